//! Starting `bwrap` for one sandbox, on the spawner's thread.

use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::MemfdFlags;
use tokio::process::Child;
use tokio::runtime::Handle;

use super::Spawner;
use super::arguments::{self, Layout, Tools};
use super::stage::{Access, Shown, Stage};
use crate::sandbox::spawn;

/// Everything that the spawner's thread needs to start one sandbox.
pub(super) struct Making {
    pub(super) bwrap: PathBuf,
    pub(super) user: Option<u32>,
    pub(super) init: PathBuf,
    pub(super) etc: PathBuf,
    pub(super) tree: PathBuf,
    pub(super) gateway: Option<PathBuf>,
    pub(super) tools: Tools,
    pub(super) scratch: u64,
    pub(super) filters: Vec<Vec<u8>>,
    pub(super) control: OwnedFd,
    pub(super) groups: Vec<OwnedFd>,
    pub(super) runtime: Handle,
}

/// `bwrap` started, and what can leave the stage when the sandbox stands.
pub(super) struct Made {
    pub(super) bwrap: Child,
    pub(super) shown: OnStage,
}

/// Pieces that are on the stage while one sandbox is made.
pub(super) struct OnStage {
    shown: Vec<Shown>,
    spawner: Arc<Spawner>,
}

impl Drop for OnStage {
    fn drop(&mut self) {
        let shown = std::mem::take(&mut self.shown);
        self.spawner.post(move |_| shown.iter().for_each(Shown::withdraw));
    }
}

impl Making {
    pub(super) fn make(self, stage: &mut Stage, spawner: Arc<Spawner>) -> io::Result<Made> {
        let mut pieces = OnStage { shown: Vec::new(), spawner };
        pieces.shown.push(stage.show(&self.tree, Access::Writable)?);
        if let Some(gateway) = &self.gateway {
            pieces.shown.push(stage.show(gateway, Access::Writable)?);
        }
        let bwrap = self.launch(&pieces.shown)?;
        Ok(Made { bwrap, shown: pieces })
    }

    fn launch(self, shown: &[Shown]) -> io::Result<Child> {
        let filters = self.filters.iter().map(|filter| in_memory(filter)).collect::<io::Result<Vec<_>>>()?;
        let layout = Layout {
            init: &self.init,
            etc: &self.etc,
            tree: &shown[0].place,
            gateway: shown.get(1).map(|shown| shown.place.as_path()),
            tools: &self.tools,
            scratch: self.scratch,
            filters: &filters.iter().map(spawn::number).collect::<Vec<_>>(),
        };
        let arguments = in_memory(&layout.arguments())?;
        let command_line = arguments::command_line(&spawn::number(&arguments), &spawn::number(&self.control));
        let launch = spawn::Launch {
            program: self.bwrap,
            arguments: command_line,
            inherited: filters.into_iter().chain([arguments, self.control]).collect(),
            groups: self.groups,
            user: self.user,
        };
        launch.start(&self.runtime)
    }
}

/// A file without a name that holds these bytes, to be read from its beginning.
fn in_memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = fs::File::from(rustix::fs::memfd_create(c"countersign", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    io::Seek::rewind(&mut file)?;
    Ok(file.into())
}
