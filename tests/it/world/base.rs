//! The world of one test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use countersign::app::{Delegation, Refused, make_repository};
use countersign::config::{Config, ProviderConfig, Secret};
use countersign::cycle::id::{IssueId, RunId};
use countersign::cycle::run::Run;
use countersign::model_server::{ModelServer, PROVIDER, Script};
use countersign::service::{Service, Started};
use countersign::store::{Entry, Line, PullRequest, Repository, Stored};

use super::{database, invariants};

/// No run of these tests takes this long, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(240);

/// A service over a fresh directory, with one repository.
pub(super) struct World {
    pub(super) started: Started,
    pub(super) repository: Repository,
    /// The bare repository that the work is for.
    pub(super) remote: PathBuf,
    pub(super) scratch: tempfile::TempDir,
    server: ModelServer,
}

/// An issue to delegate; the fields that a test does not name are ordinary.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) title: &'static str,
    pub(super) body: String,
    pub(super) base: &'static str,
    pub(super) passes: u8,
    pub(super) money: &'static str,
    pub(super) clock: Duration,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            title: "Keep better notes",
            body: "The notes are too short.".to_owned(),
            base: "main",
            passes: 3,
            money: "5",
            clock: Duration::from_secs(600),
        }
    }
}

/// What came of a run, once nothing is left of the service that made it.
pub(super) struct Told {
    pub(super) run: Run,
    pub(super) events: Vec<Stored>,
    pub(super) lines: Vec<Line<Entry>>,
    pub(super) pull: Option<PullRequest>,
    /// The bodies of all requests that the model server got, in order.
    pub(super) requests: Vec<String>,
    pub(super) remote: PathBuf,
    pub(super) scratch: tempfile::TempDir,
}

/// Notes with a check that passes on them, and fails when they are gone.
pub(super) const NOTES: &[(&str, &str)] = &[
    ("notes.txt", "first\nsecond\nthird\n"),
    (".countersign.toml", "[[check]]\nname = \"test\"\ncommand = \"test -s notes.txt\"\n"),
];

/// The ordinary change: a fourth note.
pub(super) const FOURTH: &str = "echo fourth >> notes.txt";

impl World {
    /// A world with these files on the branch `main`.
    pub(super) async fn new(files: &[(&str, &str)], words: Script) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let remote = scratch.path().join("remote.git");
        make_repository(&remote, files).unwrap();
        Self::over(scratch, remote, words, |_| ()).await
    }

    /// A world over a repository that the test made itself, with settings of its own.
    pub(super) async fn over(
        scratch: tempfile::TempDir,
        remote: PathBuf,
        words: Script,
        settings: impl FnOnce(&mut Config),
    ) -> Self {
        let server = ModelServer::start(words).await.unwrap();
        let mut config = config(scratch.path(), &server.base_url());
        config.database = database::fresh().await.map(Secret::new);
        settings(&mut config);
        let started = Service::start(&config).await.unwrap();
        let repository = started.app.add_repository("notes", &remote.display().to_string()).await.unwrap();
        Self { started, repository, remote, scratch, server }
    }

    /// Hands the issue over.
    pub(super) async fn delegate(&self, asked: Asked) -> Result<RunId, Refused> {
        let delegation = Delegation {
            issue: IssueId::new(),
            repository: self.repository.id,
            title: asked.title.to_owned(),
            body: asked.body,
            done: Vec::new(),
            base: asked.base.to_owned(),
            passes: asked.passes,
            money: asked.money.parse().unwrap(),
            clock: asked.clock,
        };
        self.started.app.delegate(delegation).await
    }

    /// Waits until nothing will happen to the run any more.
    pub(super) async fn end_of(&self, run: RunId) -> Run {
        tokio::time::timeout(PATIENCE, self.started.app.wait_until_over(run)).await.expect("the run hangs").unwrap()
    }

    /// Delegates one ordinary issue, waits for its end, takes the service down and checks the invariants.
    pub(super) async fn run(self) -> Told {
        self.run_as(Asked::default()).await
    }

    /// The same with this issue.
    pub(super) async fn run_as(self, asked: Asked) -> Told {
        let run = self.delegate(asked).await.unwrap();
        self.end_of(run).await;
        self.close(run).await
    }

    /// Takes the service down, checks the invariants, and tells of this run.
    pub(super) async fn close(self, run: RunId) -> Told {
        let requests = self.requests().await;
        let store = self.started.app.store.clone();
        self.started.stop().await;
        let told = Told {
            run: store.load(run).await.unwrap(),
            events: store.list_events(run).await.unwrap(),
            lines: store.list_lines(run, 10_000).await.unwrap(),
            pull: store.find_pull_request(run).await.unwrap(),
            requests,
            remote: self.remote,
            scratch: self.scratch,
        };
        invariants::hold(&told);
        told
    }

    /// The bodies of all requests that the model server got so far, in order.
    pub(super) async fn requests(&self) -> Vec<String> {
        let url = format!("{}/requests", self.server.base_url());
        countersign::gateway::tls::install();
        let log: serde_json::Value = reqwest::get(url).await.unwrap().json().await.unwrap();
        log.as_array().unwrap().iter().map(|r| r["body"].as_str().unwrap().to_owned()).collect()
    }
}

/// A service of one's own below this directory, whose model is the server at this address.
pub(crate) fn config(scratch: &Path, base_url: &str) -> Config {
    let mut config = Config { data: scratch.join("data"), ..Config::default() };
    for agent in [&mut config.agents.implementer, &mut config.agents.reviewer] {
        PROVIDER.clone_into(&mut agent.provider);
    }
    config.providers.insert(PROVIDER.to_owned(), ProviderConfig { base_url: Some(base_url.to_owned()) });
    config
}

/// What git prints, as a judge from outside; it must work.
pub(super) fn git(at: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(at)
        .args(["-c", "user.name=A Person", "-c", "user.email=person@example.org", "-c", "safe.directory=*"])
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

impl Told {
    /// What git says of the remote.
    pub(super) fn git(&self, arguments: &[&str]) -> String {
        git(&self.remote, arguments)
    }

    /// A file of the delivered branch.
    pub(super) fn delivered(&self, path: &str) -> String {
        self.git(&["show", &format!("{}:{path}", self.branch())])
    }

    pub(super) fn branch(&self) -> &str {
        &self.run.preparation.as_ref().unwrap().branch
    }

    /// The first message of every conversation of a role, in order.
    pub(super) fn briefs(&self, role: &str) -> Vec<String> {
        let bodies = self.requests.iter().map(|b| serde_json::from_str::<serde_json::Value>(b).unwrap());
        let of_role = bodies.filter(|b| b["system"].to_string().contains(&format!("You are the {role}")));
        let first = of_role.filter(|b| b["messages"].as_array().is_some_and(|m| m.len() == 1));
        first.map(|b| b["messages"][0]["content"][0]["text"].as_str().unwrap_or_default().to_owned()).collect()
    }
}
