//! A real server on a port of this machine, and a client that sends exactly the bytes a test says.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use countersign::cycle::id::RunId;
use countersign::web::desk::{Declined, Desk, Setup};
use countersign::web::error::Error;
use countersign::web::pages::delegate::form::Delegation;
use countersign::web::pages::delegate::refusal::Field;
use countersign::web::pages::delegate::{self, Repository};
use countersign::web::pages::{home, pull_request, run};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// The run that the pages show.
pub(super) const RUN: RunId = RunId::from_u128(1);
/// The run whose page fails.
pub(super) const FAILING: RunId = RunId::from_u128(2);
/// The run whose page panics.
pub(super) const PANICKING: RunId = RunId::from_u128(3);

/// Answers with the pages' own samples and keeps what was delegated.
#[derive(Default)]
struct Shelf {
    taken: Mutex<Vec<Delegation>>,
}

fn first<T>(samples: Vec<(&'static str, T)>) -> Option<T> {
    samples.into_iter().map(|(_, view)| view).next()
}

impl Desk for Shelf {
    fn setup(&self) -> Setup {
        Setup::default()
    }

    async fn home(&self) -> Result<home::View, Error> {
        first(home::samples(&str::to_owned)).ok_or_else(|| Error::internal("no sample"))
    }

    async fn repositories(&self) -> Result<Vec<Repository>, Error> {
        Ok(delegate::samples::repositories(&str::to_owned))
    }

    async fn delegate(&self, delegation: Delegation) -> Result<RunId, Declined> {
        if delegation.base == "missing" {
            return Err(Declined::Because(Field::Base, "There is no branch `missing`; there is `main`.".into()));
        }
        if delegation.base == "no-provider" {
            return Err(Declined::NotSetUp("The provider p is not set up on this machine.".into()));
        }
        if delegation.base == "broken" {
            return Err(Declined::Failed(Error::internal("disk full at /var/lib/secret")));
        }
        self.taken.lock().expect("no test panics in here").push(delegation);
        Ok(RUN)
    }

    async fn run(&self, run: RunId) -> Result<Option<run::View>, Error> {
        match run {
            RUN => Ok(first(run::samples::samples(&str::to_owned))),
            FAILING => Err(Error::internal("disk full at /var/lib/secret")),
            PANICKING => panic!("a rule was broken at /var/lib/secret"),
            _ => Ok(None),
        }
    }

    async fn pull_request(&self, run: RunId) -> Result<Option<pull_request::View>, Error> {
        Ok(if run == RUN { first(pull_request::samples(&str::to_owned)) } else { None })
    }
}

/// A running service.
pub(super) struct Service {
    address: SocketAddr,
    shelf: Arc<Shelf>,
    // Dropped last: ending the runtime ends the service.
    _runtime: Runtime,
}

impl Service {
    pub(super) fn start() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let shelf = Arc::new(Shelf::default());
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        runtime.spawn(countersign::web::serve(listener, Arc::clone(&shelf), CancellationToken::new()));
        Self { address, shelf, _runtime: runtime }
    }

    /// The host as a browser on this machine would name it.
    pub(super) fn host(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    /// What was delegated since the last time this was asked.
    pub(super) fn taken(&self) -> Vec<Delegation> {
        std::mem::take(&mut self.shelf.taken.lock().expect("no test panics in here"))
    }

    /// Opens a page as a browser does.
    pub(super) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[("host", &self.host())], b"")
    }

    /// Sends a form as a browser does from one of our own pages.
    pub(super) fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let body =
            fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect::<Vec<_>>().join("&");
        let (host, origin) = (self.host(), format!("http://{}", self.host()));
        let headers = [("host", host.as_str()), ("origin", &origin), ("sec-fetch-site", "same-origin"), FORM];
        self.send("POST", path, &headers, body.as_bytes())
    }

    /// Sends bytes that need not be a request.
    pub(super) fn raw(&self, bytes: &[u8]) -> (TcpStream, std::io::Result<()>) {
        let mut stream = TcpStream::connect(self.address).expect("the service listens");
        let sent = stream.write_all(bytes);
        (stream, sent)
    }

    /// Sends bytes that need not be a request, and reads what comes back.
    pub(super) fn raw_status(&self, text: &str) -> (u16, String) {
        // A refusal may overtake the sending.
        let (mut stream, _) = self.raw(text.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        (answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0), answer)
    }

    /// Sends a request and reads the answer to its end.
    pub(super) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        let mut stream = TcpStream::connect(self.address).expect("the service listens");
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(b"\r\n")).expect("the head is sent");
        stream.write_all(body).expect("the whole body is sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("the answer is read to its end");
        Answer::read(&answer)
    }
}

pub(super) const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// Percent-encodes everything but letters and digits.
pub(super) fn encoded(text: &str) -> String {
    text.bytes()
        .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}

/// An answer, its body as text.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: String,
}

impl Answer {
    fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").expect("a whole head");
        let (status, headers) = head.split_once("\r\n").expect("a status line");
        let status = status.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status");
        let headers = headers
            .split("\r\n")
            .filter_map(|line| line.split_once(": "))
            .map(|(n, v)| (n.to_owned(), v.to_owned()))
            .collect();
        Self { status, headers, body: body.to_owned() }
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}
