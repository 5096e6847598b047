//! The service as the process that a person would start, seen from outside: its output, its pages, its exit.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use countersign::app::make_repository;
use countersign::model_server::{ModelServer, PROVIDER, Script};
use countersign::store::Store;

use super::database;

/// Nothing of these tests takes this long, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(240);

/// A data directory, a remote with files, and a model; services come and go over them.
pub(super) struct Outside {
    pub(super) scratch: tempfile::TempDir,
    pub(super) remote: PathBuf,
    database: Option<String>,
    model: ModelServer,
}

/// One process of the service.
pub(super) struct Process {
    child: Child,
    address: String,
    log: PathBuf,
}

impl Outside {
    pub(super) async fn new(files: &[(&str, &str)], words: Script) -> Self {
        Self::over(database::fresh().await, files, words).await
    }

    /// On a server, whatever the other tests run on, so that nodes can share it; `None` where there is none.
    pub(super) async fn shared(files: &[(&str, &str)], words: Script) -> Option<Self> {
        Some(Self::over(Some(database::server().await?), files, words).await)
    }

    async fn over(database: Option<String>, files: &[(&str, &str)], words: Script) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let remote = scratch.path().join("remote.git");
        make_repository(&remote, files).unwrap();
        let model = ModelServer::start(words).await.unwrap();
        let agent = |role| format!("[agents.{role}]\nprovider = \"{PROVIDER}\"\nmodel = \"claude-sonnet-4-5\"\n");
        let provider = format!("[providers.{PROVIDER}]\nbase_url = \"{}\"\n", model.base_url());
        let settings = [agent("implementer"), agent("reviewer"), provider].concat();
        std::fs::write(scratch.path().join("settings.toml"), settings).unwrap();
        let outside = Self { scratch, remote, database, model };
        let added = outside.program(&["repository", "add", "notes", &outside.remote.display().to_string()]).status();
        assert!(added.unwrap().success());
        outside
    }

    pub(super) fn data(&self) -> PathBuf {
        self.scratch.path().join("data")
    }

    /// How many calls of the model there were.
    pub(super) async fn calls(&self) -> usize {
        let log = reqwest::get(format!("{}/requests", self.model.base_url())).await.unwrap();
        log.json::<serde_json::Value>().await.unwrap().as_array().unwrap().len()
    }

    /// What the services keep, read beside them.
    pub(super) async fn store(&self) -> Store {
        Store::of(&self.data(), self.database.as_deref()).await.unwrap()
    }

    pub(super) fn program(&self, arguments: &[&str]) -> Command {
        self.program_on(&self.data(), arguments)
    }

    fn program_on(&self, data: &Path, arguments: &[&str]) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_countersign"));
        program.args(["--config", "settings.toml"]).args(arguments).current_dir(self.scratch.path());
        program.env("COUNTERSIGN_DATA", data).env("COUNTERSIGN_LISTEN", "127.0.0.1:0").stdin(Stdio::null());
        program.envs(self.database.iter().map(|url| ("COUNTERSIGN_DATABASE", url)));
        program
    }

    /// Starts the service and waits until it says where it listens.
    pub(super) async fn serve(&self) -> Process {
        self.serve_on("data").await
    }

    /// The same with a data directory of its own: another node, where the database is shared.
    pub(super) async fn serve_on(&self, data: &str) -> Process {
        let (file, log) = tempfile::NamedTempFile::new_in(self.scratch.path()).unwrap().keep().unwrap();
        let mut program = self.program_on(&self.scratch.path().join(data), &["serve"]);
        program.env("COUNTERSIGN_LEASE_S", "2");
        program.stdout(file.try_clone().unwrap()).stderr(file);
        let child = program.spawn().unwrap();
        let mut process = Process { child, address: String::new(), log };
        process.address = until("the service listens", async || {
            let said = process.said();
            let after = said.split("serving http://").nth(1)?;
            after.split_whitespace().next().map(str::to_owned)
        })
        .await;
        process
    }
}

impl Process {
    /// All that it has printed.
    pub(super) fn said(&self) -> String {
        read(&mut File::open(&self.log).unwrap())
    }

    /// Hands an issue over by the form; returns the path of the run's page.
    pub(super) async fn delegate(&self) -> String {
        countersign::gateway::tls::install();
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let page = format!("http://{}/delegate", self.address);
        let form = client.get(&page).send().await.unwrap().text().await.unwrap();
        let (issue, repository) = (hidden(&form, "name=\"issue\" value=\""), hidden(&form, "<option value=\""));
        let answer = client
            .post(&page)
            .header("origin", format!("http://{}", self.address))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(format!(
                "issue={issue}&repository={repository}&title=Keep+better+notes&body=Too+short.&base=main&passes=3&money=5&clock=10m"
            ))
            .send()
            .await
            .unwrap();
        let place = answer.headers().get("location").map(|l| l.to_str().unwrap().to_owned());
        place.expect("the form is taken")
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// A page as a browser gets it.
    pub(super) async fn page(&self, path: &str) -> String {
        let answer = reqwest::get(format!("http://{}{path}", self.address)).await.unwrap();
        answer.text().await.unwrap()
    }

    /// Asks it to stop, as a service manager does, and waits for its end.
    pub(super) fn stop(mut self) -> ExitStatus {
        self.signal(rustix::process::Signal::TERM);
        self.child.wait().unwrap()
    }

    /// Freezes it as a machine that is moved or has no time for it; what it started goes on.
    pub(super) fn freeze(&self) {
        self.signal(rustix::process::Signal::STOP);
    }

    /// Lets it go on.
    pub(super) fn wake(&self) {
        self.signal(rustix::process::Signal::CONT);
    }

    /// Ends it as a power cut would.
    pub(super) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks again until there is an answer; a test that waits for ever fails by name.
pub(super) async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Processes that have something of this directory mounted or as an argument.
pub(super) fn processes_of(scratch: &Path) -> Vec<String> {
    let name = scratch.file_name().unwrap().to_str().unwrap();
    let own = std::process::id().to_string();
    let all = std::fs::read_dir("/proc").unwrap().flatten().filter(|p| p.file_name() != own.as_str());
    let of = |p: std::fs::DirEntry| {
        let text = |file| std::fs::read_to_string(p.path().join(file)).unwrap_or_default();
        let command = text("cmdline").replace('\0', " ");
        (text("mountinfo").contains(name) || command.contains(name)).then_some(command)
    };
    all.filter_map(of).collect()
}

fn read(file: &mut File) -> String {
    let mut text = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

fn hidden<'a>(form: &'a str, before: &str) -> &'a str {
    form.split(before).nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_else(|| panic!("{before}: {form}"))
}
