//! Sandboxes of Linux namespaces, made by `bwrap` over the needed parts of this machine's own system.
//!
//! No daemon and no image. A sandbox is unprivileged inside and outside: as root the service drops to a user of its
//! own first, and without root it is the service's user. What is shown is listed, never hidden: `/usr`, a few files of
//! `/etc`, tool chains, and the work tree, which with `/tmp` and the home directory is all that is writable.

mod arguments;
mod body;
mod bwrap;
mod cgroup;
mod etc;
mod filter;
mod limits;
mod making;
mod owner;
mod stage;
mod tools;
mod tree;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use tokio::runtime::Handle;

use self::arguments::Tools;
use self::body::{Control, Started};
use self::cgroup::{Group, Hierarchies};
use self::etc::Etc;
use self::making::Making;
use self::stage::{Access, Stage};
use self::tools::ToolChain;
use super::live::Body;
use super::wire::{Reply, Request, Setup};
use super::{Backend, Boxed, Error, Sandbox, Spec, link, spawn};

pub(crate) use self::limits::WHY_NOT;
pub use self::limits::{Grip, Grips};

/// *Init*, built by `build.rs`.
static INIT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/init"));

type Spawner = spawn::Spawner<Stage>;

/// How the namespace backend is to work on this machine.
#[derive(Debug, Clone)]
pub struct NamespaceSettings {
    /// A directory of the backend's own, made if need be. With root it may lie anywhere; without, the service's user
    /// must own it.
    pub directory: PathBuf,
    /// The user and group number that sandboxes have on this machine when the service is root: nobody else's.
    pub uid: u32,
    /// Refuse to work at all unless every limit holds over a sandbox as a whole.
    pub strict: bool,
}

impl NamespaceSettings {
    /// User number 61357, not strict.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), uid: 61357, strict: false }
    }
}

/// The namespace backend. Cheap to keep; one is enough for a process.
#[derive(Debug)]
pub struct Namespace {
    bwrap: PathBuf,
    /// The user that sandboxes have on this machine, when the service is root.
    user: Option<u32>,
    mounts: bool,
    init: PathBuf,
    etc: PathBuf,
    tools: Tools,
    environment: BTreeMap<String, String>,
    filters: Vec<Vec<u8>>,
    hierarchies: Hierarchies,
    grips: Grips,
    spawner: Arc<Spawner>,
    /// The source of `etc`, kept for as long as a sandbox shows it.
    etc_source: Arc<Etc>,
}

impl Namespace {
    /// Finds `bwrap` and the tool chains, prepares what sandboxes are made of, proves which limits hold, and removes
    /// what dead services left. Blocks, for some hundred milliseconds.
    ///
    /// # Errors
    /// [`Error::NoBackend`] without a `bwrap` that is new enough; [`Error::LimitRefused`] in strict mode.
    pub fn new(settings: &NamespaceSettings) -> Result<Self, Error> {
        let bwrap = bwrap::find()?;
        let hierarchies = Hierarchies::find();
        let grips = Grips::of(&hierarchies);
        if settings.strict {
            grips.insist()?;
        }
        hierarchies.sweep();
        let user = rustix::process::geteuid().is_root().then_some(settings.uid);
        let init = prepare_directory(&settings.directory).map_err(Error::io("prepare the sandboxes' directory"))?;
        let etc = fs::canonicalize(&settings.directory)
            .and_then(|directory| Etc::make(&directory))
            .map_err(Error::io("prepare the sandboxes' /etc"))?;
        let filters = filter::programs().map_err(|error| Error::NoBackend {
            missing: format!("the system-call filter cannot be made ({error})"),
            remedy: "sandboxes need an x86_64 or aarch64 machine".to_owned(),
        })?;
        let (spawner, mounts) = start_spawner(user).map_err(Error::io("start the thread for sandboxes"))?;
        if let (Some(user), false) = (user, mounts)
            && let Some(barrier) = stage::barrier(etc.path(), user)
        {
            return Err(Error::NoBackend {
                missing: format!("the sandboxes' user may not enter {}", barrier.display()),
                remedy: "put the data directory where everyone may pass".to_owned(),
            });
        }
        let mut namespace = Self {
            bwrap,
            user,
            mounts,
            init,
            etc: etc.path().to_owned(),
            tools: Tools::default(),
            environment: BTreeMap::new(),
            filters,
            hierarchies,
            grips,
            spawner: Arc::new(spawner),
            etc_source: Arc::new(etc),
        };
        namespace.init = namespace.show_for_good(namespace.init.clone())?;
        namespace.etc = namespace.show_for_good(namespace.etc.clone())?;
        namespace.show_tool_chains(&settings.directory)?;
        namespace.environment = arguments::environment(&namespace.tools);
        Ok(namespace)
    }

    /// Which limits hold, and how far.
    #[must_use]
    pub fn grips(&self) -> &Grips {
        &self.grips
    }

    fn show_tool_chains(&mut self, directory: &Path) -> Result<(), Error> {
        for chain in tools::find() {
            let root = self.reachable_root(&chain, directory).map_err(Error::io("copy a tool chain"))?;
            let place = self.show_for_good(root)?;
            let parts = tools::PARTS.iter().filter(|part| chain.root.join(part).is_dir());
            self.tools.parts.extend(parts.map(|part| (place.join(part), format!("{}/{part}", chain.inside()))));
            self.tools.links.extend(chain.needs_own_place().then(|| (chain.inside(), chain.root.clone())));
        }
        Ok(())
    }

    /// Where the tool chain is to be taken from: its own place if the sandbox's user can get there, else a copy.
    fn reachable_root(&self, chain: &ToolChain, directory: &Path) -> io::Result<PathBuf> {
        let reached = match self.user {
            Some(user) => self.mounts || stage::barrier(&chain.root.join("bin"), user).is_none(),
            None => true,
        };
        if reached {
            return Ok(chain.root.clone());
        }
        let copy = directory.join("toolchains").join(chain.name);
        tools::copy(chain, &copy)?;
        Ok(copy)
    }

    /// Puts a file or directory on the stage, read-only, for as long as this process lives.
    fn show_for_good(&self, source: PathBuf) -> Result<PathBuf, Error> {
        let (report, done) = std::sync::mpsc::sync_channel(1);
        self.spawner.post(move |stage| _ = report.send(stage.show(&source, Access::ReadOnly)));
        let shown = done.recv().unwrap_or_else(|_| Err(io::Error::other("the thread for sandboxes has ended")));
        shown.map(|shown| shown.place).map_err(Error::io("show a tool chain to sandboxes"))
    }

    async fn start_sandbox(&self, spec: &Spec) -> Result<Sandbox, Error> {
        self.check_tree(&spec.tree)?;
        self.give_gateway(spec)?;
        let group = self.make_group(spec)?;
        let (ours, theirs) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )
        .map_err(|error| Error::Io { doing: "make a control socket", source: error.into() })?;
        let control = Control::new(ours)?;
        let making = self.making(spec, theirs, group.as_ref())?;
        let spawner = Arc::clone(&self.spawner);
        let made = self.spawner.run(move |stage| making.make(stage, spawner)).await;
        let made = made.and_then(|result| result).map_err(Error::io("start bwrap"))?;
        let started = Started::wait(control, made.bwrap, group, Arc::clone(&self.etc_source)).await;
        drop(made.shown);
        let started = started?;
        set_up(&started, self.setup(spec)).await?;
        Ok(Sandbox::new(Box::new(started), self.environment.clone(), spec.limits.clone()))
    }

    fn check_tree(&self, tree: &Path) -> Result<(), Error> {
        let bad = |why| Error::BadTree { path: tree.to_owned(), why };
        let found = fs::symlink_metadata(tree).map_err(|_| bad("is not there"))?;
        if !found.is_dir() || !tree.is_absolute() {
            return Err(bad("is not a directory, or not an absolute path"));
        }
        let Some(user) = self.user else { return Ok(()) };
        if found.uid() != user {
            return Err(bad("was not handed over to the sandbox's user"));
        }
        match stage::barrier(tree, user) {
            Some(_) if !self.mounts => Err(bad("lies in a directory that the sandbox's user may not enter")),
            _ => Ok(()),
        }
    }

    /// Lets the sandbox's user connect to the gateway: nobody else but root can.
    fn give_gateway(&self, spec: &Spec) -> Result<(), Error> {
        let (Some(gateway), Some(user)) = (&spec.gateway, self.user) else { return Ok(()) };
        std::os::unix::fs::lchown(gateway, Some(user), Some(user)).map_err(Error::io("hand the gateway's socket over"))
    }

    fn make_group(&self, spec: &Spec) -> Result<Option<Group>, Error> {
        if !self.grips.any_by_group() {
            return Ok(None);
        }
        self.hierarchies.make(spec.run, &spec.limits).map(Some).map_err(Error::io("limit a sandbox by a control group"))
    }

    fn making(&self, spec: &Spec, control: OwnedFd, group: Option<&Group>) -> Result<Making, Error> {
        let groups = group.map_or(Ok(Vec::new()), Group::join_files).map_err(Error::io("open a control group"))?;
        Ok(Making {
            bwrap: self.bwrap.clone(),
            user: self.user,
            init: self.init.clone(),
            etc: self.etc.clone(),
            tree: spec.tree.clone(),
            gateway: spec.gateway.clone(),
            tools: self.tools.clone(),
            // A quarter each, so that full temporary directories leave room for work.
            scratch: spec.limits.memory / 4,
            filters: self.filters.clone(),
            control,
            groups,
            runtime: Handle::current(),
        })
    }

    /// What *init* is to see to, where no group does.
    fn setup(&self, spec: &Spec) -> Setup {
        let unless = |held: bool, limit: u64| if held { u64::MAX } else { limit };
        Setup {
            processes: unless(self.grips.processes == Grip::Whole, u64::from(spec.limits.processes)),
            data: unless(self.grips.memory == Grip::Whole, spec.limits.memory),
            file_size: spec.limits.file_size,
            gateway: spec.gateway.as_ref().map_or_else(String::new, |_| arguments::GATEWAY.to_owned()),
        }
    }
}

impl Backend for Namespace {
    fn start<'a>(&'a self, spec: &'a Spec) -> Boxed<'a, Result<Sandbox, Error>> {
        Box::pin(self.start_sandbox(spec))
    }

    fn hand_over(&self, tree: &Path) -> Result<(), Error> {
        self.user.map_or(Ok(()), |user| tree::give(tree, user))
    }

    fn take_back(&self, tree: &Path) -> Result<(), Error> {
        tree::take(tree)
    }

    fn remove(&self, tree: &Path) -> Result<(), Error> {
        tree::remove(tree)
    }

    fn sweep(&self) {
        self.hierarchies.sweep();
    }
}

async fn set_up(started: &Started, setup: Setup) -> Result<(), Error> {
    let stream = started.open().await?;
    link::converse(stream, &Request::Setup(setup), None, |reply| matches!(reply, Reply::Done).then_some(()))
        .await
        .map_err(|failure| failure.about_path("the gateway's port"))
}

fn start_spawner(user: Option<u32>) -> io::Result<(Spawner, bool)> {
    if user.is_some()
        && let Ok(spawner) = Spawner::new(Stage::mounted)?
    {
        return Ok((spawner, true));
    }
    match Spawner::new(|| Ok::<_, std::convert::Infallible>(Stage::Direct))? {
        Ok(spawner) => Ok((spawner, false)),
        Err(never) => match never {},
    }
}

/// Makes the directory and puts *init* into it; a sandbox that still runs an older one keeps that.
fn prepare_directory(directory: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755))?;
    let init = directory.join("init");
    if !fs::read(&init).is_ok_and(|found| found == INIT) {
        let new = directory.join(format!("init.{}", std::process::id()));
        fs::write(&new, INIT)?;
        fs::rename(&new, &init)?;
    }
    fs::set_permissions(&init, fs::Permissions::from_mode(0o555))?;
    fs::canonicalize(init)
}
