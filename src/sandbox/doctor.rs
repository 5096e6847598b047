//! What `countersign doctor` says about sandboxes on this machine: each statement proved by trying it inside one.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use super::namespace::WHY_NOT;
use super::{
    Backend, Command, End, Error, Finished, Grip, Limit, Limits, Namespace, NamespaceSettings, Program, Sandbox, Spec,
};
use crate::cycle::id::RunId;

/// How a statement stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It was tried, and it holds.
    Holds,
    /// It holds in a weaker form, which the finding says. In strict mode that [fails](Standing::Fails).
    Partly,
    /// Something that runs may need is not there; sandboxes work without it.
    Absent,
    /// It does not hold. No run should start.
    Fails,
}

/// One statement about sandboxes on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The statement, as if it held: "no network".
    pub what: &'static str,
    /// How it stands.
    pub standing: Standing,
    /// What was seen, in a few words; may be empty.
    pub seen: String,
    /// What to do about it, if anything can be done.
    pub remedy: Option<String>,
}

impl Finding {
    /// Whether no run should start on this machine before it is mended.
    #[must_use]
    pub fn stops_runs(&self) -> bool {
        self.standing == Standing::Fails
    }
}

/// One line, and a second one with the remedy if there is one.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let standing = match self.standing {
            Standing::Holds => "ok",
            Standing::Partly => "partly",
            Standing::Absent => "absent",
            Standing::Fails => "FAILS",
        };
        write!(f, "{standing:<7} {}", self.what)?;
        if !self.seen.is_empty() {
            write!(f, " ({})", self.seen)?;
        }
        match &self.remedy {
            Some(remedy) => write!(f, "\n        {remedy}"),
            None => Ok(()),
        }
    }
}

/// Limits that are quick to reach.
const TRIAL: Limits = Limits { memory: 256 << 20, processes: 48, cpu_percent: 50, file_size: 1 << 20 };

/// Tries sandboxes out. Takes a few seconds; leaves nothing behind. A finding that [fails](Standing::Fails) comes last
/// if nothing more could be tried because of it.
pub async fn doctor(settings: &NamespaceSettings) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Err(error) = examine(settings, &mut findings).await {
        let remedy = if let Error::NoBackend { remedy, .. } = &error { remedy } else { NAMESPACES_REFUSED };
        findings.push(Finding {
            what: "a sandbox can be started and used",
            standing: Standing::Fails,
            seen: describe(&error),
            remedy: Some(remedy.to_owned()),
        });
    }
    findings
}

/// What is most often in the way when `bwrap` is there and still fails.
const NAMESPACES_REFUSED: &str = "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, \
     kernel.apparmor_restrict_unprivileged_userns=0, user.max_user_namespaces above 0); in a container they are mostly \
     refused altogether, so run the service outside of one";

async fn examine(settings: &NamespaceSettings, findings: &mut Vec<Finding>) -> Result<(), Error> {
    let (settings, strict) = (NamespaceSettings { strict: false, ..settings.clone() }, settings.strict);
    let directory = settings.directory.clone();
    let backend = tokio::task::spawn_blocking(move || Namespace::new(&settings)).await;
    let backend = backend.map_err(|error| Error::Io { doing: "prepare the sandboxes", source: error.into() })??;
    let tree = directory.join(format!("doctor-{}", std::process::id()));
    backend.remove(&tree)?;
    std::fs::create_dir_all(&tree).map_err(Error::io("make a work tree"))?;
    let result = examine_over(&backend, &tree, &directory, findings).await;
    backend.remove(&tree)?;
    for finding in findings.iter_mut().filter(|finding| strict && finding.standing == Standing::Partly) {
        finding.standing = Standing::Fails;
    }
    result
}

async fn examine_over(
    backend: &Namespace,
    tree: &Path,
    directory: &Path,
    findings: &mut Vec<Finding>,
) -> Result<(), Error> {
    backend.hand_over(tree)?;
    let spec = Spec { run: RunId::new(), tree: tree.to_owned(), limits: TRIAL, gateway: None };
    let sandbox = backend.start(&spec).await?;
    findings.push(holds("a sandbox can be started and used", String::new()));
    for probe in probes(directory) {
        findings.push(probe.try_in(&sandbox).await?);
    }
    for (what, line) in TOOLS {
        findings.push(tool(&sandbox, what, line).await?);
    }
    for (limit, grip) in backend.grips().list() {
        findings.push(limit_finding(&sandbox, limit, grip).await?);
        sandbox.kill_commands().await?;
    }
    sandbox.end().await
}

/// A shell line that exits with 0 exactly if the statement holds, and prints what was seen.
struct Probe {
    what: &'static str,
    line: String,
}

impl Probe {
    async fn try_in(&self, sandbox: &Sandbox) -> Result<Finding, Error> {
        let finished = run(sandbox, &self.line).await?;
        if finished.end == End::Exit(0) {
            return Ok(holds(self.what, first_line(&finished)));
        }
        let (standing, remedy) = (Standing::Fails, Some(A_BUG.to_owned()));
        Ok(Finding { what: self.what, standing, seen: first_line(&finished), remedy })
    }
}

fn probes(directory: &Path) -> Vec<Probe> {
    let probe = |what, line: &str| Probe { what, line: line.to_owned() };
    let status = |what, field: &str, value: &str| {
        let line = format!("grep -w {field} /proc/self/status | grep -E '^{field}:[[:space:]]*{value}$'");
        Probe { what, line }
    };
    vec![
        probe("not root inside", "id -un; test \"$(id -u)\" -ne 0"),
        status("no capabilities", "CapEff", "0+"),
        status("no new privileges", "NoNewPrivs", "1"),
        status("system calls are filtered", "Seccomp", "2"),
        probe("no further user namespaces", "unshare -U true; test $? -eq 1"),
        probe(
            "no network but loopback",
            "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; test $(wc -l < /proc/net/dev) -eq 3 && test $(wc -l < /proc/net/route) -le 1",
        ),
        Probe { what: "this machine's own files are absent", line: absent(directory) },
        probe("the system is read-only", "! touch /usr/bin/probe && ! touch /etc/probe && ! touch /probe"),
        probe(
            "process 1 is closed to commands",
            "! cat /proc/1/environ && ! ls /proc/1/fd && ! head -c 1 /proc/1/mem && kill -9 1; kill -0 1",
        ),
        probe(
            "the environment says nothing of the service",
            "! env | grep -iE 'key|token|secret|database' | cut -d= -f1 | grep .",
        ),
    ]
}

/// A line that prints and fails on a file that should not be there. A home may exist as a way to a tool chain.
fn absent(directory: &Path) -> String {
    let home = std::env::home_dir().filter(|home| home.components().count() > 1).unwrap_or_default();
    let places = ["/root".as_ref(), "/etc/shadow".as_ref(), "/var/run/docker.sock".as_ref(), directory, home.as_path()];
    let quoted = places.map(|place| format!("'{}'", place.to_string_lossy().replace('\'', "'\\''")));
    format!("! find {} ! -type d ! -type l -print -quit 2>/dev/null | grep .", quoted.join(" "))
}

/// Tools that checks of the supported kinds of project need.
const TOOLS: [(&str, &str); 8] = [
    ("git", "git --version"),
    ("a C compiler", "cc --version"),
    ("cargo", "cargo --version"),
    ("rustc", "rustc --version"),
    ("node", "node --version"),
    ("npm", "npm --version"),
    ("python", "python3 --version"),
    ("pytest for that python", "python3 -m pytest --version"),
];

async fn tool(sandbox: &Sandbox, what: &'static str, line: &str) -> Result<Finding, Error> {
    let finished = run(sandbox, line).await?;
    if finished.end == End::Exit(0) {
        return Ok(holds(what, first_line(&finished)));
    }
    let remedy = "install it for all users, or for the service's own user in its PATH, if a repository needs it";
    let seen = first_line(&finished);
    Ok(Finding { what, standing: Standing::Absent, seen, remedy: Some(remedy.to_owned()) })
}

/// For what was set up, and then did not hold.
const A_BUG: &str = "this should not be possible: please report it with the kernel's version";

async fn limit_finding(sandbox: &Sandbox, limit: Limit, grip: Grip) -> Result<Finding, Error> {
    let (what, line): (_, &str) = match limit {
        // `tail` has to keep all of it, since it never sees the end of a line.
        Limit::Memory => ("the memory limit holds", "head -c 400M /dev/zero | tail > /dev/null"),
        Limit::Processes => ("the process limit holds", "i=0; while [ $i -lt 100 ]; do sleep 9 & i=$((i+1)); done"),
        Limit::Cpu => (
            "the processor limit holds",
            "timeout 0.8 sh -c 'while :; do :; done'; times | tail -n 1 | cut -dm -f2 | cut -ds -f1",
        ),
        Limit::FileSize => {
            ("the file size limit holds", "sh -c 'head -c 2M /dev/zero > /tmp/probe' 2> /dev/null; wc -c < /tmp/probe")
        }
    };
    let finished = run(sandbox, line).await?;
    let text = String::from_utf8_lossy(&finished.output.head);
    let seen = text.lines().last().unwrap_or_default().trim();
    let number = seen.parse::<f64>().unwrap_or(f64::MAX);
    let held = match limit {
        Limit::Memory | Limit::Processes => finished.end != End::Exit(0),
        // Half a processor for 0.8 s, and as much again for the kernel's uneven counting.
        Limit::Cpu => number <= 0.6,
        Limit::FileSize => number <= 1_048_576.0,
    };
    let standing = match (held, grip) {
        (true, Grip::Whole) => Standing::Holds,
        (true, _) | (false, Grip::Loose) => Standing::Partly,
        (false, _) => Standing::Fails,
    };
    let seen = match grip {
        Grip::Whole if held => "over the whole sandbox".to_owned(),
        Grip::Whole => format!("a control group was made, and yet: {seen}"),
        Grip::EachProcess => "for each process by itself".to_owned(),
        Grip::User => "for the sandbox's user".to_owned(),
        Grip::Loose => "not at all".to_owned(),
    };
    let remedy = (standing != Standing::Holds).then_some(if grip == Grip::Whole { A_BUG } else { WHY_NOT });
    Ok(Finding { what, standing, seen, remedy: remedy.map(str::to_owned) })
}

async fn run(sandbox: &Sandbox, line: &str) -> Result<Finished, Error> {
    let command = Command {
        program: Program::Shell(line.to_owned()),
        directory: String::new(),
        environment: BTreeMap::new(),
        input: None,
        time_limit: Duration::from_secs(20),
        keep_output: 4096,
    };
    sandbox.run(&command).await
}

fn holds(what: &'static str, seen: String) -> Finding {
    Finding { what, standing: Standing::Holds, seen, remedy: None }
}

fn first_line(finished: &Finished) -> String {
    let text = String::from_utf8_lossy(&finished.output.head);
    let line = text.lines().next().unwrap_or_default().replace('\t', " ");
    line.chars().filter(|character| !character.is_control()).take(120).collect()
}

fn describe(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
