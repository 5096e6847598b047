//! What a sandbox costs, as ratios between things measured in turn in one run: a command through *init* against the
//! same command in a sandbox started for it alone, and against a plain process of the service.
//!
//! Run it with `cargo bench --bench sandbox`; the arguments are ignored.

#![expect(clippy::disallowed_methods, reason = "it measures time, and a plain process as the floor")]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use countersign::cycle::id::RunId;
use countersign::sandbox::{Backend, Command, End, Limits, Namespace, NamespaceSettings, Program, Sandbox, Spec};

const ROUNDS: usize = 200;
const FLOOD: u64 = 1 << 30;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "figures are what it is for")]
async fn main() -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let backend = Namespace::new(&NamespaceSettings::new(scratch.path().join("sandboxes")))?;
    let tree = scratch.path().join("tree");
    std::fs::create_dir(&tree)?;
    backend.hand_over(&tree)?;
    let spec = Spec { run: RunId::new(), tree, limits: Limits::default(), gateway: None };

    let lasting = backend.start(&spec).await?;
    let (mut plain, mut through, mut ready, mut alone) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        plain.push(timed(plain_process()).await?);
        through.push(timed(run(&lasting, "true")).await?);
        let began = Instant::now();
        let own = backend.start(&spec).await?;
        ready.push(began.elapsed());
        run(&own, "true").await?;
        own.end().await?;
        alone.push(began.elapsed());
    }
    let floor = Spread::of(plain);
    println!(
        "{ROUNDS} rounds in turn; `true` by `sh -c`; milliseconds p50 / p95 / max, and p50 as a multiple of a plain process"
    );
    floor.print("plain process of the service (floor)", &floor);
    let (through, alone) = (Spread::of(through), Spread::of(alone));
    through.print("command through init", &floor);
    alone.print("sandbox started, used once, ended", &floor);
    Spread::of(ready).print("of which until it is ready", &floor);

    let ratio = alone.p50 / through.p50;
    println!("a command through init costs 1/{ratio:.1} of a sandbox of its own");

    let began = Instant::now();
    let finished = lasting.run(&command(&format!("head -c {FLOOD} /dev/zero"), 64 << 10)).await?;
    let speed = FLOOD as f64 / 1e6 / began.elapsed().as_secs_f64();
    anyhow::ensure!(finished.end == End::Exit(0), "the flood ended with {:?}", finished.end);
    println!(
        "1 GiB of output drained at {speed:.0} MB/s; this process has at most {} kB resident",
        resident(Path::new("/proc/self/status"))?
    );
    lasting.end().await?;
    Ok(())
}

fn command(line: &str, keep_output: usize) -> Command {
    Command {
        program: Program::Shell(line.to_owned()),
        directory: String::new(),
        environment: BTreeMap::new(),
        input: None,
        time_limit: Duration::from_secs(60),
        keep_output,
    }
}

async fn run(sandbox: &Sandbox, line: &str) -> anyhow::Result<()> {
    let finished = sandbox.run(&command(line, 1024)).await?;
    anyhow::ensure!(finished.end == End::Exit(0), "{line} ended with {:?}", finished.end);
    Ok(())
}

async fn plain_process() -> anyhow::Result<()> {
    let output = tokio::process::Command::new("sh").args(["-c", "true"]).output().await?;
    anyhow::ensure!(output.status.success());
    Ok(())
}

async fn timed(deed: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<Duration> {
    let began = Instant::now();
    deed.await?;
    Ok(began.elapsed())
}

fn resident(status: &Path) -> anyhow::Result<u64> {
    let text = std::fs::read_to_string(status)?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.unwrap_or("0").parse()?)
}

struct Spread {
    p50: f64,
    p95: f64,
    max: f64,
}

impl Spread {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        let at = |hundredths: usize| times[(times.len() * hundredths / 100).min(times.len() - 1)].as_secs_f64() * 1e3;
        Self { p50: at(50), p95: at(95), max: at(100) }
    }

    #[expect(clippy::print_stdout, reason = "figures are what it is for")]
    fn print(&self, what: &str, floor: &Self) {
        let Self { p50, p95, max } = self;
        println!("{what:<40} {p50:>7.2} / {p95:>7.2} / {max:>7.2}   x{:.1}", p50 / floor.p50);
    }
}
