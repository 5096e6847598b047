//! An agent's surroundings for one test.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use countersign::agent::builtin::{Conversation, Limits, Opening};
use countersign::agent::{Action, Role, ToolCall};
use countersign::cycle::id::{
    CallId, {Lease, RunId},
};
use countersign::cycle::money::Money;
use countersign::gateway::meter::{Ask, LedgerFuture, MoneyLedger, Reserve, Settlement};
use countersign::gateway::prices::{Price, Prices, Rates};
use countersign::gateway::providers::{PROVIDERS, Upstream};
use countersign::gateway::wire::anthropic::{Block, Effort, MessagesRequest};
use countersign::gateway::{self, Client, Gateway, Listening, Session};
use countersign::model_server::{ModelServer, Script};
use countersign::sandbox::{self, Backend, Command, Namespace, NamespaceSettings, Program, Sandbox, Spec};
use rustix::process::{Pid, Signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const MODEL: &str = "model";

/// A sandbox over an empty tree, and a gateway to a model server that plays a script.
pub(super) struct Rig {
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) cancel: CancellationToken,
    pub(super) limits: Limits,
    pub(super) ceiling: Money,
    tree: PathBuf,
    server: ModelServer,
    gateway: Gateway,
    listening: Listening,
    sink: mpsc::Sender<Action>,
    told: mpsc::Receiver<Action>,
    seen: Vec<Action>,
    run: RunId,
    backend: Namespace,
    home: tempfile::TempDir,
}

impl Rig {
    pub(super) async fn start(script: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let run = RunId::new();
        let tree = home.path().join("tree");
        std::fs::create_dir(&tree).unwrap();
        let backend = Namespace::new(&NamespaceSettings::new(home.path().join("sandbox"))).unwrap();
        backend.hand_over(&tree).unwrap();
        let limits = sandbox::Limits::default();
        let spec = Spec { run, tree: tree.clone(), limits, gateway: None };
        let sandbox = Arc::new(backend.start(&spec).await.unwrap());
        let server = ModelServer::start(Script::parse(script).unwrap()).await.unwrap();
        let gateway = Gateway::new(options(&server)).unwrap();
        let listening = gateway.listen(&home.path().join("gateway.sock")).unwrap();
        let (sink, told) = mpsc::channel(1_000);
        Self {
            sandbox,
            cancel: CancellationToken::new(),
            limits: Limits::default(),
            ceiling: Money::from_cents(500),
            tree,
            server,
            gateway,
            listening,
            sink,
            told,
            seen: Vec::new(),
            run,
            backend,
            home,
        }
    }

    pub(super) fn open(&self, role: Role) -> Conversation {
        let session = Session {
            step: 1,
            lease: Lease { run: self.run, fence: 1 },
            label: role.to_string(),
            provider: PROVIDERS.iter().find(|provider| provider.canned).unwrap(),
            models: vec![MODEL.to_owned()],
            ceiling: self.ceiling,
        };
        let token = self.gateway.open_session(session).unwrap();
        Conversation::open(Opening {
            role,
            model: MODEL.to_owned(),
            effort: Some(Effort::High),
            client: Client::new(self.listening.path(), token).unwrap(),
            sandbox: Arc::clone(&self.sandbox),
            sink: self.sink.clone(),
            cancel: self.cancel.clone(),
            limits: self.limits.clone(),
        })
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.tree.join(path)
    }

    /// Puts a file into the tree, as the sandbox's user may change it.
    pub(super) fn put(&self, path: &str, content: &str) {
        let file = self.path(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
        self.backend.hand_over(&self.tree).unwrap();
    }

    pub(super) fn link(&self, target: &str, path: &str) {
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
    }

    pub(super) fn get(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    /// Kills every process that has this rig's tree mounted: *init* and all that it started.
    pub(super) fn kill_sandbox(&self) {
        let name = self.home.path().file_name().unwrap().to_str().unwrap();
        for process in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let mounts = std::fs::read_to_string(process.path().join("mountinfo")).unwrap_or_default();
            if mounts.contains(name) && pid != std::process::id().cast_signed() {
                // One may have died of the other's end.
                let _ = rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
            }
        }
    }

    /// Everything that the agent has told so far.
    pub(super) fn actions(&mut self) -> &[Action] {
        while let Ok(action) = self.told.try_recv() {
            self.seen.push(action);
        }
        &self.seen
    }

    pub(super) fn calls(&mut self) -> Vec<ToolCall> {
        let used = |action: &Action| match action {
            Action::Used(call) => Some(call.clone()),
            Action::Said(_) | Action::Thought(_) | Action::Waiting { .. } | Action::Compacted { .. } => None,
        };
        self.actions().iter().filter_map(used).collect()
    }

    /// The same as a line each.
    pub(super) fn story(&mut self) -> Vec<String> {
        let line = |action: &Action| match action {
            Action::Said(text) => format!("said: {text}"),
            Action::Thought(text) => format!("thought: {text}"),
            Action::Used(call) => call.summary.clone(),
            Action::Waiting { cause, .. } => format!("waited: {cause:?}"),
            Action::Compacted { .. } => "made room".to_owned(),
        };
        self.actions().iter().map(line).collect()
    }

    /// The bodies of all requests that the model server got.
    pub(super) async fn requests(&self) -> Vec<String> {
        let url = format!("{}/requests", self.server.base_url());
        let log: serde_json::Value = reqwest::get(url).await.unwrap().json().await.unwrap();
        let bodies = log.as_array().unwrap().iter();
        bodies.map(|request| request["body"].as_str().unwrap().to_owned()).collect()
    }

    /// The results of all tool calls, as the model saw them last.
    pub(super) async fn results(&self) -> Vec<String> {
        let body = self.requests().await.pop().unwrap();
        let request: MessagesRequest = serde_json::from_str(&body).unwrap();
        let result = |block| match block {
            Block::ToolResult { content, .. } => Some(content),
            Block::Text { .. } | Block::ToolUse { .. } | Block::Thinking { .. } | Block::Unknown(_) => None,
        };
        request.messages.into_iter().flat_map(|message| message.content).filter_map(result).collect()
    }
}

/// What a command prints in the sandbox.
pub(super) async fn run_in(sandbox: &Sandbox, line: &str) -> String {
    let command = Command {
        program: Program::Shell(line.to_owned()),
        directory: String::new(),
        environment: BTreeMap::new(),
        input: None,
        time_limit: Duration::from_secs(10),
        keep_output: 1 << 20,
    };
    String::from_utf8_lossy(&sandbox.run(&command).await.unwrap().output.head).into_owned()
}

fn options(server: &ModelServer) -> gateway::Options {
    let provider = PROVIDERS.iter().find(|provider| provider.canned).unwrap();
    let mut prices = Prices::empty();
    prices.set(MODEL, Price { rates: Rates::per_million([3_000, 15_000, 300, 3_750, 6_000]), long: None });
    gateway::Options {
        upstreams: vec![Upstream::new(provider, Some(&server.base_url()), None).unwrap()],
        prices,
        ledger: Arc::new(Purse::default()),
        limits: gateway::Limits::default(),
    }
}

/// A ledger of money for one test, which nothing needs to outlive.
#[derive(Default)]
struct Purse(Mutex<BTreeMap<CallId, Money>>);

impl Purse {
    fn lines<T>(&self, change: impl FnOnce(&mut BTreeMap<CallId, Money>) -> T) -> LedgerFuture<'static, T>
    where
        T: Send + 'static,
    {
        let value = change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Box::pin(async { Ok(value) })
    }
}

impl MoneyLedger for Purse {
    fn reserve(&self, ask: Ask) -> LedgerFuture<'_, Reserve> {
        self.lines(|lines| {
            let left = ask.ceiling.minus(lines.values().copied().sum());
            if ask.amount > left {
                return Reserve::Refused { left };
            }
            lines.insert(ask.call, ask.amount);
            Reserve::Reserved
        })
    }

    fn settle(&self, call: CallId, settlement: Settlement) -> LedgerFuture<'_, ()> {
        self.lines(|lines| {
            lines.insert(call, settlement.cost);
        })
    }

    fn release(&self, call: CallId) -> LedgerFuture<'_, ()> {
        self.lines(|lines| {
            lines.remove(&call);
        })
    }
}
