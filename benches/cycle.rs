//! What the cycle itself costs: a pass's wall clock without its commands, against what its sandboxes alone cost in the
//! same run; and how long the service takes from its start to its first page, against starting the same program at all.
//!
//! Run it with `cargo bench --bench cycle`; the arguments are ignored.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock and starts the program that it measures")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use countersign::app::{Delegation, make_repository};
use countersign::config::{Config, ProviderConfig};
use countersign::cycle::event::Event;
use countersign::cycle::id::{IssueId, RunId};
use countersign::cycle::step::{Step, StepResult};
use countersign::model_server::{ModelServer, PROVIDER, Script};
use countersign::sandbox::{Backend, Limits, Namespace, NamespaceSettings, Spec};
use countersign::service::{Service, Started};
use countersign::store::Entry;

const PASSES: u8 = 20;
const STARTS: usize = 15;

/// An implementer that puts a new first line in, and a reviewer that objects to it, pass after pass.
const WORDS: &str = r#"
[capture]
digest = "diff-digest: "

[[conversation]]
when = { role = "implementer" }
repeat_last = true
[[conversation.turn]]
tools = [{ name = "bash", input = { command = "sed -i \"1i line $(date +%N)\" notes.txt" } }]
[[conversation.turn]]
text = "Done."

[[conversation]]
when = { role = "reviewer" }
repeat_last = true
[[conversation.turn]]
[[conversation.turn.tools]]
name = "verdict"
[conversation.turn.tools.input]
approved = false
digest = "{{digest}}"
summary = "Not yet."
findings = [{ severity = "high", cite = "notes.txt:1", text = "Another line is wanted.", evidence = "It is not there." }]
"#;

#[tokio::main]
async fn main() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    overhead(scratch.path()).await?;
    first_page(scratch.path())
}

async fn overhead(scratch: &Path) -> Result<()> {
    let server = ModelServer::start(Script::parse(WORDS)?).await?;
    let mut config = Config { data: scratch.join("data"), ..Config::default() };
    for agent in [&mut config.agents.implementer, &mut config.agents.reviewer] {
        PROVIDER.clone_into(&mut agent.provider);
    }
    config.providers.insert(PROVIDER.to_owned(), ProviderConfig { base_url: Some(server.base_url()) });
    let started = Service::start(&config).await?;
    let run = delegate(&started, scratch).await?;
    let ended = started.app.wait_until_over(run).await?;
    let own = own_time(&started, run).await?;
    println!("{} passes, ended as {}", ended.passes.len(), ended.outcome.context("it has no outcome")?);
    started.stop().await;
    let floor = sandboxes(scratch).await?;
    let own = Spread::of(own);
    println!("a pass without its commands        p50 {:6.1}  p95 {:6.1} ms (target 300)", own.p50, own.p95);
    println!("  of which three sandboxes cost    p50 {:6.1}  p95 {:6.1} ms", floor.p50, floor.p95);
    println!("  as a multiple of that floor          {:6.2}", own.p50 / floor.p50);
    Ok(())
}

async fn delegate(started: &Started, scratch: &Path) -> Result<RunId> {
    let remote = scratch.join("notes.git");
    let check = "[[check]]\nname = \"test\"\ncommand = \"test -s notes.txt\"\n";
    make_repository(&remote, &[("notes.txt", "first\n"), (".countersign.toml", check)])?;
    let repository = started.app.add_repository("notes", &remote.display().to_string()).await?;
    let delegation = Delegation {
        issue: IssueId::new(),
        repository: repository.id,
        title: "Keep notes".to_owned(),
        body: String::new(),
        done: Vec::new(),
        base: "main".to_owned(),
        passes: PASSES,
        money: "1000".parse()?,
        clock: Duration::from_secs(3600),
    };
    Ok(started.app.delegate(delegation).await?)
}

/// Each pass from the beginning of its writing step to the end of its review, less the commands that ran in it.
/// The model server's answers, some milliseconds each, are counted as ours.
async fn own_time(started: &Started, run: RunId) -> Result<Vec<Duration>> {
    let events = started.app.store.list_events(run).await?;
    let lines = started.app.store.list_lines::<Entry>(run, 100_000).await?;
    let (mut own, mut began, mut commands) = (Vec::new(), 0, Duration::ZERO);
    let mut in_flight = (Step::Prepare, 0);
    for stored in &events {
        match &stored.event {
            Event::StepBegan { step, .. } => {
                in_flight = (*step, stored.seq);
                if matches!(step, Step::Implement | Step::Revise(_)) {
                    (began, commands) = (stored.at.0, Duration::ZERO);
                }
            }
            Event::StepFinished { result, .. } => {
                commands += tools(&lines, in_flight.1) + checks(result);
                if matches!(in_flight.0, Step::Review(_)) {
                    let took = Duration::from_micros((stored.at.0 - began).unsigned_abs());
                    own.push(took.saturating_sub(commands));
                }
            }
            Event::Delegated { .. }
            | Event::Remarked { .. }
            | Event::RemarkConfirmed { .. }
            | Event::CancelAsked { .. }
            | Event::Decided { .. } => {}
        }
    }
    Ok(own)
}

fn tools(lines: &[countersign::store::Line<Entry>], step: u64) -> Duration {
    let used = lines.iter().filter(|l| l.step == step).map(|l| match &l.what {
        Entry::Used { duration_ms, .. } => *duration_ms,
        Entry::Said(_) | Entry::Thought(_) | Entry::Waited { .. } | Entry::Compacted { .. } => 0,
    });
    Duration::from_millis(used.sum())
}

fn checks(result: &StepResult) -> Duration {
    let StepResult::Verified { runs, .. } = result else { return Duration::ZERO };
    Duration::from_millis(runs.iter().flat_map(|r| &r.attempts).map(|a| a.duration_ms).sum())
}

/// Starting and ending three sandboxes, as every pass does.
async fn sandboxes(scratch: &Path) -> Result<Spread> {
    let backend = Namespace::new(&NamespaceSettings::new(scratch.join("sandboxes")))?;
    let tree = scratch.join("tree");
    std::fs::create_dir(&tree)?;
    backend.hand_over(&tree)?;
    let spec = Spec { run: RunId::new(), tree, limits: Limits::default(), gateway: None };
    let mut took = Vec::new();
    for _ in 0..PASSES {
        let began = Instant::now();
        for _ in 0..3 {
            backend.start(&spec).await?.end().await?;
        }
        took.push(began.elapsed());
    }
    Ok(Spread::of(took))
}

fn first_page(scratch: &Path) -> Result<()> {
    let (mut serve, mut floor) = (Vec::new(), Vec::new());
    for n in 0..STARTS {
        let began = Instant::now();
        Command::new(env!("CARGO_BIN_EXE_countersign")).arg("--version").output()?;
        floor.push(began.elapsed());
        serve.push(start_once(&scratch.join(format!("start-{n}")))?);
    }
    let (serve, floor) = (Spread::of(serve), Spread::of(floor));
    println!("start to first page                p50 {:6.1}  p95 {:6.1} ms (target 300)", serve.p50, serve.p95);
    println!("  the same program's --version     p50 {:6.1}  p95 {:6.1} ms", floor.p50, floor.p95);
    println!("  as a multiple of that floor          {:6.2}", serve.p50 / floor.p50);
    Ok(())
}

fn start_once(data: &Path) -> Result<Duration> {
    let free = std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
    let began = Instant::now();
    let mut service = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .arg("serve")
        .env("COUNTERSIGN_DATA", data)
        .env("COUNTERSIGN_LISTEN", free.to_string())
        .stderr(Stdio::null())
        .spawn()?;
    let page = page(free, began);
    let took = began.elapsed();
    // SIGTERM, as an operator would: the standard library only knows how to kill.
    Command::new("kill").arg(service.id().to_string()).status()?;
    service.wait()?;
    page.map(|()| took)
}

fn page(address: SocketAddr, began: Instant) -> Result<()> {
    while began.elapsed() < Duration::from_secs(20) {
        let Ok(mut stream) = TcpStream::connect(address) else {
            std::thread::yield_now();
            continue;
        };
        write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        if reply.starts_with("HTTP/1.1 200") {
            return Ok(());
        }
        bail!("the first page is {}", reply.lines().next().unwrap_or_default());
    }
    bail!("there is no page after 20 s")
}

/// Milliseconds.
struct Spread {
    p50: f64,
    p95: f64,
}

impl Spread {
    fn of(mut took: Vec<Duration>) -> Self {
        took.sort();
        let at = |hundredths: usize| took[(took.len() - 1) * hundredths / 100].as_secs_f64() * 1000.0;
        Self { p50: at(50), p95: at(95) }
    }
}
