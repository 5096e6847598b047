//! How far each limit of a sandbox holds on this machine.

use super::cgroup::{Hierarchies, Place};
use crate::sandbox::{Error, Limit};

/// How far a limit holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grip {
    /// Over the sandbox as a whole, counted by the kernel.
    Whole,
    /// For each process by itself; many processes together can use more.
    EachProcess,
    /// For the sandbox's user as a whole, which on kernels before 5.14 is all sandboxes together.
    User,
    /// Not at all.
    Loose,
}

/// How far every limit holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grips {
    /// Of [`Limits::memory`](crate::sandbox::Limits::memory).
    pub memory: Grip,
    /// Of [`Limits::processes`](crate::sandbox::Limits::processes).
    pub processes: Grip,
    /// Of [`Limits::cpu_percent`](crate::sandbox::Limits::cpu_percent).
    pub cpu: Grip,
    /// Of [`Limits::file_size`](crate::sandbox::Limits::file_size), which is a limit of each file, so that
    /// [`Grip::Whole`] says all there is to say.
    pub file_size: Grip,
}

impl Grips {
    pub(super) fn of(hierarchies: &Hierarchies) -> Self {
        let by = |place: &Option<Place>, otherwise| if place.is_some() { Grip::Whole } else { otherwise };
        Self {
            memory: by(&hierarchies.memory, Grip::EachProcess),
            processes: by(&hierarchies.processes, Grip::User),
            cpu: by(&hierarchies.cpu, Grip::Loose),
            file_size: Grip::Whole,
        }
    }

    pub(super) fn any_by_group(&self) -> bool {
        [self.memory, self.processes, self.cpu].contains(&Grip::Whole)
    }

    /// All limits with how far they hold.
    #[must_use]
    pub fn list(&self) -> [(Limit, Grip); 4] {
        [
            (Limit::Memory, self.memory),
            (Limit::Processes, self.processes),
            (Limit::Cpu, self.cpu),
            (Limit::FileSize, self.file_size),
        ]
    }

    /// Refuses unless all hold over a sandbox as a whole.
    pub(super) fn insist(&self) -> Result<(), Error> {
        match self.list().into_iter().find(|(_, grip)| *grip != Grip::Whole) {
            None => Ok(()),
            Some((limit, _)) => Err(Error::LimitRefused { limit, why: WHY_NOT.to_owned() }),
        }
    }
}

/// What stands in the way when a limit does not hold, and what to do about it.
pub(crate) const WHY_NOT: &str = "this process may not make control groups with that controller: run the service as root, \
     or as a systemd unit with `Delegate=yes`";
