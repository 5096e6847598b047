//! Limits over a sandbox as a whole, by the kernel's control groups of either version.
//!
//! Groups are named for the service that made them, so that what a dead service left can be told from what a living
//! one uses. Version 1 is used as root; version 2 where this process may make groups beside its own, which as an
//! ordinary user means a delegated subtree (`Delegate=yes` in a systemd unit).

use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::owner::Owner;
use crate::cycle::id::RunId;
use crate::sandbox::Limits;

/// The directory under which all sandboxes' groups are, in each hierarchy.
const FAMILY: &str = "countersign";
/// Length of the period over which processor time is shared out, in microseconds.
const PERIOD: u64 = 100_000;
/// Processes of a sandbox that are ours: `bwrap` outside and *init* inside.
const OURS: u64 = 2;

/// Tells the sandboxes of this process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The hierarchies that this process can make groups in. A place is a directory that new groups go into.
#[derive(Debug, Default)]
pub(super) struct Hierarchies {
    pub(super) memory: Option<Place>,
    pub(super) processes: Option<Place>,
    pub(super) cpu: Option<Place>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    V1(PathBuf),
    V2(PathBuf),
}

impl Place {
    fn path(&self) -> &Path {
        match self {
            Self::V1(path) | Self::V2(path) => path,
        }
    }
}

impl Hierarchies {
    /// Looks for them and proves each by making a group with a limit in it.
    pub(super) fn find() -> Self {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let v2 = unified_place(&mounts, &own);
        let pick = |controller: &str, set: fn(&Group, &Place, &Limits) -> io::Result<()>| {
            let v1 = mount_of(&mounts, controller).map(|mount| Place::V1(mount.join(FAMILY)));
            [v1, v2.clone()].into_iter().flatten().find(|place| {
                let group = Group::new(&Owner::this(), RunId::from_u128(0));
                let holds = group.make_in(place).and_then(|()| set(&group, place, &Limits::default()));
                group.remove_from(place) && holds.is_ok()
            })
        };
        Self {
            memory: pick("memory", Group::limit_memory),
            processes: pick("pids", Group::limit_processes),
            cpu: pick("cpu", Group::limit_cpu),
        }
    }

    fn places(&self) -> Vec<&Place> {
        let mut places: Vec<&Place> = [&self.memory, &self.processes, &self.cpu].into_iter().flatten().collect();
        places.dedup();
        places
    }

    /// Makes the group of one sandbox, with its limits.
    pub(super) fn make(&self, run: RunId, limits: &Limits) -> io::Result<Group> {
        let mut group = Group::new(&Owner::this(), run);
        for place in self.places() {
            group.make_in(place)?;
            group.directories.push(place.path().join(&group.name));
        }
        if let Some(place) = &self.memory {
            group.limit_memory(place, limits)?;
            group.kills = Some(group.file(
                place,
                match place {
                    Place::V1(_) => "memory.oom_control",
                    Place::V2(_) => "memory.events",
                },
            ));
        }
        if let Some(place) = &self.processes {
            group.limit_processes(place, limits)?;
        }
        if let Some(place) = &self.cpu {
            group.limit_cpu(place, limits)?;
        }
        Ok(group)
    }

    /// Removes the groups of services that are no longer alive, with whatever still runs in them.
    pub(super) fn sweep(&self) {
        for place in self.places() {
            let entries = fs::read_dir(place.path()).into_iter().flatten().flatten();
            for entry in entries.filter(|entry| Owner::is_dead(&entry.file_name().to_string_lossy())) {
                kill_members(&entry.path());
                remove(&entry.path());
            }
        }
    }
}

/// The groups of one sandbox, one per hierarchy, under one name; removed when dropped.
#[derive(Debug)]
pub(super) struct Group {
    name: String,
    directories: Vec<PathBuf>,
    kills: Option<PathBuf>,
}

impl Group {
    fn new(owner: &Owner, run: RunId) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { name: format!("{owner}.{number}.{run}"), directories: Vec::new(), kills: None }
    }

    fn make_in(&self, place: &Place) -> io::Result<()> {
        fs::create_dir_all(place.path().join(&self.name))
    }

    fn remove_from(&self, place: &Place) -> bool {
        fs::remove_dir(place.path().join(&self.name)).is_ok()
    }

    fn file(&self, place: &Place, name: &str) -> PathBuf {
        place.path().join(&self.name).join(name)
    }

    fn set(&self, place: &Place, name: &str, value: &impl ToString) -> io::Result<()> {
        fs::write(self.file(place, name), value.to_string())
    }

    fn limit_memory(&self, place: &Place, limits: &Limits) -> io::Result<()> {
        match place {
            Place::V1(_) => {
                self.set(place, "memory.limit_in_bytes", &limits.memory)?;
                self.set_if_there(place, "memory.memsw.limit_in_bytes", limits.memory)
            }
            Place::V2(_) => {
                self.set(place, "memory.max", &limits.memory)?;
                self.set_if_there(place, "memory.swap.max", 0)
            }
        }
    }

    /// Swap is counted only by kernels that were built or started so; without it there is nothing to limit.
    fn set_if_there(&self, place: &Place, name: &str, value: u64) -> io::Result<()> {
        match self.set(place, name, &value) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    fn limit_processes(&self, place: &Place, limits: &Limits) -> io::Result<()> {
        self.set(place, "pids.max", &(u64::from(limits.processes) + OURS))
    }

    fn limit_cpu(&self, place: &Place, limits: &Limits) -> io::Result<()> {
        // The kernel takes no quota below a millisecond.
        let quota = (u64::from(limits.cpu_percent) * PERIOD / 100).max(1000);
        match place {
            Place::V1(_) => {
                self.set(place, "cpu.cfs_period_us", &PERIOD)?;
                self.set(place, "cpu.cfs_quota_us", &quota)
            }
            Place::V2(_) => self.set(place, "cpu.max", &format!("{quota} {PERIOD}")),
        }
    }

    /// Kills whatever is in the groups.
    pub(super) fn kill(&self) {
        self.directories.iter().for_each(|directory| kill_members(directory));
    }

    /// Removes the groups, waiting for what is on its way out. Blocks.
    pub(super) fn remove(mut self) {
        std::mem::take(&mut self.directories).iter().for_each(|directory| remove(directory));
    }

    /// The files into which a process of one thread writes `0` to join.
    ///
    /// In version 1 that is `tasks`: moving one thread spares the kernel a lock over all processes of the machine, which
    /// takes milliseconds. Version 2 has `cgroup.procs` only.
    pub(super) fn join_files(&self) -> io::Result<Vec<OwnedFd>> {
        let open = |path: PathBuf| OpenOptions::new().write(true).open(path).map(OwnedFd::from);
        let either =
            |directory: &PathBuf| open(directory.join("tasks")).or_else(|_| open(directory.join("cgroup.procs")));
        self.directories.iter().map(either).collect()
    }

    /// How often the kernel has killed something in here for memory; `None` where it does not count.
    pub(super) fn memory_kills(&self) -> Option<u64> {
        let counters = fs::read_to_string(self.kills.as_ref()?).ok()?;
        kills_in(&counters)
    }
}

impl Drop for Group {
    /// A thread waits if the processes are still on their way out.
    fn drop(&mut self) {
        let left = |directory: &PathBuf| fs::remove_dir(directory).is_err() && directory.exists();
        let left: Vec<PathBuf> = std::mem::take(&mut self.directories).into_iter().filter(left).collect();
        if !left.is_empty() {
            let removing = thread::Builder::new().name("sandbox end".to_owned());
            _ = removing.spawn(move || left.iter().for_each(|directory| remove(directory)));
        }
    }
}

/// Removes a group, which the kernel allows when the last process has gone: asks for at most ten seconds; what is left
/// then is swept when the service is dead.
fn remove(directory: &Path) {
    for _ in 0..10_000 {
        match fs::remove_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(Duration::from_millis(1)),
            _ => return,
        }
    }
}

fn kill_members(directory: &Path) {
    let members = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    for pid in members.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)) {
        _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// Where the version 1 hierarchy with this controller is mounted.
fn mount_of(mounts: &str, controller: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let (_, place, kind, options) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        (kind == "cgroup" && options.split(',').any(|option| option == controller)).then(|| PathBuf::from(place))
    })
}

/// Where groups can go in the version 2 hierarchy: beside this process in its own group if that was delegated, else
/// at the root, which only root may use. The controllers must be handed down to the groups in there.
fn unified_place(mounts: &str, own: &str) -> Option<Place> {
    let mount = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let (_, place, kind) = (fields.next()?, fields.next()?, fields.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(place))
    })?;
    let own = own_group(own)?;
    let parents = [mount.join(own), mount];
    parents.into_iter().find_map(|parent| hand_down(&parent).ok()).map(Place::V2)
}

/// This process's group, relative to the mount; not the leaf that it may have moved into before.
fn own_group(own: &str) -> Option<&str> {
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(own.strip_suffix(LEAF).map_or(own, |parent| parent.trim_end_matches('/')))
}

/// Where this process goes, below its group, to let that hand its controllers down.
const LEAF: &str = "countersign-service";

/// Has `parent` hand its controllers down to the family in it, and that to the sandboxes.
fn hand_down(parent: &Path) -> io::Result<PathBuf> {
    const CONTROLLERS: &str = "+memory +pids +cpu";
    let enable = || fs::write(parent.join("cgroup.subtree_control"), CONTROLLERS);
    enable().or_else(|error| {
        if error.kind() != io::ErrorKind::ResourceBusy {
            return Err(error);
        }
        // A group with processes in it cannot hand anything down. If this is the only one, it makes room.
        let members = fs::read_to_string(parent.join("cgroup.procs"))?;
        if members.trim() != std::process::id().to_string() {
            return Err(error);
        }
        fs::create_dir_all(parent.join(LEAF))?;
        fs::write(parent.join(LEAF).join("cgroup.procs"), "0")?;
        enable()
    })?;
    let family = parent.join(FAMILY);
    fs::create_dir_all(&family)?;
    fs::write(family.join("cgroup.subtree_control"), CONTROLLERS)?;
    Ok(family)
}

/// The counter of kills, which both versions call alike.
fn kills_in(counters: &str) -> Option<u64> {
    counters.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_read_from_both_versions() {
        assert_eq!(kills_in("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"), Some(3));
        assert_eq!(kills_in("low 0\nhigh 0\nmax 17\noom 2\noom_kill 1\noom_group_kill 0\n"), Some(1));
        assert_eq!(kills_in("oom_kill_disable 0\n"), None);
    }

    #[test]
    fn a_service_that_has_made_room_before_still_knows_its_group() {
        let own = |line: &str| own_group(line).map(str::to_owned);
        assert_eq!(
            own("1:name=x:/y\n0::/system.slice/countersign.service\n").unwrap(),
            "system.slice/countersign.service"
        );
        assert_eq!(own("0::/system.slice/x.service/countersign-service\n").unwrap(), "system.slice/x.service");
        assert_eq!(own("0::/countersign-service\n").unwrap(), "");
        assert_eq!(own("0::/\n").unwrap(), "");
        assert_eq!(own("4:memory:/x\n"), None);
    }

    #[test]
    fn a_controller_is_found_among_those_mounted_with_it() {
        let mounts = "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0\n\
                      cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(mount_of(mounts, "cpu"), Some(PathBuf::from("/sys/fs/cgroup/cpu,cpuacct")));
        assert_eq!(mount_of(mounts, "memory"), Some(PathBuf::from("/sys/fs/cgroup/memory")));
        assert_eq!(mount_of(mounts, "pids"), None);
    }
}
