//! The gateway end to end: a client on its unix socket, a model server on a TCP socket, and a ledger between them.

#![expect(clippy::unwrap_used, reason = "tests")]

mod faults;
mod hostile;
mod ledger;
mod money;
mod passing;
mod server;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use countersign::cycle::id::{Lease, RunId};
use countersign::cycle::money::Money;
use countersign::gateway::meter::MoneyLedger;
use countersign::gateway::prices::Prices;
use countersign::gateway::providers::{self, Upstream};
use countersign::gateway::secret::{Key, Token};
use countersign::gateway::wire::anthropic::{Block, Message, MessagesRequest, SystemBlock};
use countersign::gateway::{Client, Gateway, Limits, Listening, Options, Report, Session};
use countersign::model_server::{Conversation, Fault, FaultKind, ModelServer, Reply, Script};
use ledger::MemoryLedger;
use serde_json::Value;

/// $2 for a million tokens of input, $2.50 to write them to the cache, $10 for a million of output.
const MODEL: &str = "claude-sonnet-5-5";
const KEY: &str = "sk-the-real-key";

/// A gateway in front of a provider.
struct Rig {
    gateway: Gateway,
    ledger: Arc<MemoryLedger>,
    run: RunId,
    base_url: String,
    socket: PathBuf,
    _listening: Listening,
    _directory: tempfile::TempDir,
    _server: Option<ModelServer>,
}

impl Rig {
    /// In front of a model server that plays the script.
    async fn new(script: Script) -> Self {
        Self::with_limits(script, Limits::default()).await
    }

    async fn with_limits(script: Script, limits: Limits) -> Self {
        let server = ModelServer::start(script).await.unwrap();
        let rig = Self::before(server.base_url(), limits);
        Self { _server: Some(server), ..rig }
    }

    /// In front of whatever is at that address.
    fn before(base_url: String, limits: Limits) -> Self {
        let ledger = Arc::new(MemoryLedger::default());
        let gateway = gateway_on(&base_url, Arc::<MemoryLedger>::clone(&ledger), limits);
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("gw.sock");
        let _listening = gateway.listen(&socket).unwrap();
        Self { gateway, ledger, run: RunId::new(), base_url, socket, _listening, _directory: directory, _server: None }
    }

    fn session(&self, ceiling: Money) -> Token {
        self.gateway.open_session(session(self.run, ceiling)).unwrap()
    }

    fn client(&self, token: &Token) -> Client {
        Client::new(&self.socket, token.clone()).unwrap()
    }

    fn report(&self, token: &Token) -> Report {
        self.gateway.session_report(token).unwrap()
    }

    /// A plain HTTP client on the socket, as a third party's agent has one.
    fn http(&self) -> reqwest::Client {
        reqwest::Client::builder().unix_socket(self.socket.as_path()).tls_certs_only([]).build().unwrap()
    }

    /// Sends a body as it is.
    async fn post(&self, token: &Token, body: impl Into<reqwest::Body>) -> reqwest::Response {
        let request = self.http().post("http://gateway/v1/messages").header("x-api-key", token.expose());
        request.body(body).send().await.unwrap()
    }

    /// What the model server was asked so far.
    async fn asked(&self) -> Vec<Value> {
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
        client.get(format!("{}/requests", self.base_url)).send().await.unwrap().json().await.unwrap()
    }

    /// Nothing is left reserved, and the report says what the ledger says.
    fn assert_settled(&self, token: &Token) {
        assert_eq!(self.ledger.reserved(self.run), Money::ZERO, "something is still reserved");
        assert_eq!(self.report(token).spent, self.ledger.settled(self.run), "report and ledger differ");
    }
}

fn gateway_on(base_url: &str, ledger: Arc<dyn MoneyLedger>, limits: Limits) -> Gateway {
    let upstream = Upstream::new(providers::find("anthropic").unwrap(), Some(base_url), Key::new(KEY)).unwrap();
    Gateway::new(Options { upstreams: vec![upstream], prices: Prices::shipped(), ledger, limits }).unwrap()
}

fn session(run: RunId, ceiling: Money) -> Session {
    let provider = providers::find("anthropic").unwrap();
    Session {
        lease: Lease { run, fence: 1 },
        step: 1,
        label: "implement".to_owned(),
        provider,
        models: vec![MODEL.to_owned()],
        ceiling,
    }
}

/// One turn of a conversation that begins with these words.
fn request(words: &str, max_tokens: u64) -> MessagesRequest {
    MessagesRequest {
        model: MODEL.to_owned(),
        max_tokens,
        system: vec![SystemBlock::new("You are the implementer.")],
        messages: vec![Message::user(vec![Block::text(words)])],
        ..MessagesRequest::default()
    }
}

/// A script that always says the same.
fn always(reply: Reply) -> Script {
    let conversation = Conversation { turn: vec![reply], repeat_last: true, ..Conversation::default() };
    Script { conversation: vec![conversation], ..Script::default() }
}

fn says(text: &str) -> Reply {
    Reply { text: text.to_owned(), ..Reply::default() }
}

/// Goes wrong so many times, and then says something.
fn fails(kind: FaultKind, times: Option<u32>) -> Reply {
    Reply { fault: Some(Fault { kind, times }), ..says("Here I am again.") }
}

/// The price of so many tokens of [`MODEL`].
fn dollars(input: u64, output: u64) -> Money {
    Money::from_picodollars(2_000_000).times(input).plus(Money::from_picodollars(10_000_000).times(output))
}

/// Waits for something that another task brings about.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting)
        .await
        .unwrap_or_else(|_| panic!("waited in vain for: {what}"));
}
