//! The system calls that the standard library does not offer, each behind a safe function.
//!
//! The only file of *init* with `unsafe`. Declarations are for 64-bit Linux, where glibc and musl agree on them.

use std::ffi::{c_int, c_long, c_short, c_uint, c_ulong, c_void};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

unsafe extern "C" {
    fn prctl(option: c_int, ...) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn signal(signum: c_int, handler: usize) -> usize;
    fn sigemptyset(set: *mut SignalSet) -> c_int;
    fn sigaddset(set: *mut SignalSet, signum: c_int) -> c_int;
    fn sigprocmask(how: c_int, set: *const SignalSet, old: *mut SignalSet) -> c_int;
    fn signalfd(fd: c_int, mask: *const SignalSet, flags: c_int) -> c_int;
    fn poll(fds: *mut PollFd, count: c_ulong, timeout: c_int) -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn kill(pid: c_int, signum: c_int) -> c_int;
    fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
    fn ioctl(fd: c_int, request: c_ulong, ...) -> c_int;
    fn close(fd: c_int) -> c_int;
    fn setsid() -> c_int;
    fn getrlimit(resource: c_uint, limit: *mut ResourceLimit) -> c_int;
    fn setrlimit(resource: c_uint, limit: *const ResourceLimit) -> c_int;
    fn recvmsg(fd: c_int, message: *mut Message, flags: c_int) -> isize;
    fn send(fd: c_int, bytes: *const c_void, length: usize, flags: c_int) -> isize;
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    fn connect(fd: c_int, address: *const UnixAddress, length: c_uint) -> c_int;
    fn fstatfs(fd: c_int, buffer: *mut FileSystem) -> c_int;
}

const PR_SET_PDEATHSIG: c_int = 1;
const PR_SET_DUMPABLE: c_int = 4;
const SYS_CLOSE_RANGE: c_long = 436;
const SIGCHLD: c_int = 17;
const SIGPIPE: c_int = 13;
const SIGKILL: c_int = 9;
const SIG_BLOCK: c_int = 0;
const SIG_SETMASK: c_int = 2;
const SFD_FLAGS: c_int = 0o2_004_000;
const WNOHANG: c_int = 1;
const F_GETFL: c_int = 3;
const F_SETFL: c_int = 4;
const O_NONBLOCK: c_int = 0o4000;
const FIONREAD: c_ulong = 0x541B;
const MSG_CMSG_CLOEXEC: c_int = 0x4000_0000;
const MSG_NOSIGNAL: c_int = 0x4000;
const MSG_DONTWAIT: c_int = 0x40;
const SOL_SOCKET: c_int = 1;
const SCM_RIGHTS: c_int = 1;
const AF_UNIX: u16 = 1;
const SOCK_FLAGS: c_int = 0o2_004_001;
const PROC_MAGIC: c_long = 0x9fa0;

/// Input is there, or the end of it.
pub(crate) const IN: c_short = 1;
/// Output is possible.
pub(crate) const OUT: c_short = 4;
/// Always reported: an error, or the other end is gone.
pub(crate) const GONE: c_short = 8 | 16;

#[repr(C)]
struct SignalSet([u64; 16]);

/// One descriptor to wait for.
#[repr(C)]
pub(crate) struct PollFd {
    fd: c_int,
    events: c_short,
    revents: c_short,
}

/// The place of a descriptor among those waited for, in one turn of the loop.
#[derive(Clone, Copy)]
pub(crate) struct Slot(usize);

impl Slot {
    /// Not waited for.
    pub(crate) const NONE: Self = Self(usize::MAX);

    pub(crate) fn watch(fds: &mut Vec<PollFd>, fd: &impl AsRawFd, events: c_short) -> Self {
        fds.push(PollFd { fd: fd.as_raw_fd(), events, revents: 0 });
        Self(fds.len() - 1)
    }

    pub(crate) fn seen(self, fds: &[PollFd], events: c_short) -> bool {
        fds.get(self.0).is_some_and(|fd| fd.revents & events != 0)
    }
}

#[repr(C)]
struct ResourceLimit {
    soft: u64,
    hard: u64,
}

#[repr(C)]
struct Slice {
    base: *mut c_void,
    length: usize,
}

#[repr(C)]
struct Message {
    name: *mut c_void,
    name_length: c_uint,
    slices: *mut Slice,
    slice_count: usize,
    control: *mut Ancillary,
    control_length: usize,
    flags: c_int,
}

/// Room for exactly one descriptor; the kernel drops any further one.
#[repr(C)]
struct Ancillary {
    length: usize,
    level: c_int,
    kind: c_int,
    descriptor: c_int,
    padding: c_int,
}

#[repr(C)]
struct UnixAddress {
    family: u16,
    path: [u8; 108],
}

/// `struct statfs` is 120 bytes on 64-bit Linux and begins with the file system's magic number.
#[repr(C)]
struct FileSystem {
    magic: c_long,
    rest: [u64; 19],
}

/// A resource whose limit a command gets.
#[derive(Clone, Copy)]
pub(crate) enum Resource {
    FileSize = 1,
    Data = 2,
    Core = 4,
    Processes = 6,
}

/// How a process ended.
#[derive(Clone, Copy)]
pub(crate) enum Ending {
    Exit(i32),
    Signal(i32),
}

/// What [`reap`] found.
pub(crate) enum Reaped {
    Process(i32, Ending),
    NoneYet,
    NoChildren,
}

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Has the kernel kill this process when its parent, `bwrap`, has been killed.
pub(crate) fn die_with_parent() -> io::Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes one signal number and touches no memory.
    check(unsafe { prctl(PR_SET_PDEATHSIG, SIGKILL as c_ulong) }).map(drop)
}

/// Closes to everyone else what `/proc/<this process>` shows, and refuses to be traced.
pub(crate) fn hide() -> io::Result<()> {
    // SAFETY: PR_SET_DUMPABLE takes one integer and touches no memory.
    check(unsafe { prctl(PR_SET_DUMPABLE, 0 as c_ulong) }).map(drop)
}

/// Takes the control socket, whose number the service passed, and closes whatever else was inherited.
///
/// Call once, first: before this process has opened anything itself.
pub(crate) fn adopt(control: RawFd) -> io::Result<OwnedFd> {
    for (first, last) in [(3, control - 1), (control + 1, c_int::MAX)] {
        if first <= last {
            close_range(first, last);
        }
    }
    // SAFETY: F_GETFL reads the descriptor's flags and fails if the number is not open.
    check(unsafe { fcntl(control, F_GETFL) })?;
    // SAFETY: it is open, was inherited for this purpose, and nothing else in this process refers to it.
    let control = unsafe { OwnedFd::from_raw_fd(control) };
    set_nonblocking(&control)?;
    // SAFETY: F_SETFD (2) with FD_CLOEXEC (1) changes a flag of the descriptor.
    check(unsafe { fcntl(control.as_raw_fd(), 2, 1) })?;
    Ok(control)
}

fn close_range(first: c_int, last: c_int) {
    // SAFETY: the caller is the start of the program, where only inherited descriptors are open and none is owned.
    if unsafe { syscall(SYS_CLOSE_RANGE, first, last, 0) } < 0 {
        for fd in first..=last.min(1023) {
            // SAFETY: as above; close of a number that is not open fails and does nothing.
            unsafe { close(fd) };
        }
    }
}

/// Puts every signal back to its default and returns a descriptor that is readable when a child has ended.
pub(crate) fn reset_signals() -> io::Result<OwnedFd> {
    let mut set = SignalSet([0; 16]);
    // SAFETY: `set` is as large as the library's own type and lives through all calls; `signal` gets SIG_DFL (0)
    // only, and fails harmlessly for the numbers that cannot be changed.
    unsafe {
        for number in (1..=64).filter(|number| *number != SIGPIPE) {
            signal(number, 0);
        }
        sigemptyset(&raw mut set);
        check(sigprocmask(SIG_SETMASK, &raw const set, std::ptr::null_mut()))?;
        sigaddset(&raw mut set, SIGCHLD);
        check(sigprocmask(SIG_BLOCK, &raw const set, std::ptr::null_mut()))?;
        let fd = check(signalfd(-1, &raw const set, SFD_FLAGS))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Waits until one of `fds` is ready or `timeout` milliseconds are over; a negative time-out is none.
pub(crate) fn wait_for(fds: &mut [PollFd], timeout: c_int) {
    // SAFETY: the pointer and the count describe one slice of the C layout. A failure (EINTR) leaves `revents` at
    // the zero they were made with, and the caller waits again.
    unsafe { poll(fds.as_mut_ptr(), fds.len() as c_ulong, timeout) };
}

/// Takes the ending of one child, without waiting.
pub(crate) fn reap() -> Reaped {
    let mut status = 0;
    // SAFETY: `status` is a valid place for one integer.
    match unsafe { waitpid(-1, &raw mut status, WNOHANG) } {
        0 => Reaped::NoneYet,
        pid if pid > 0 => match status & 0x7f {
            0 => Reaped::Process(pid, Ending::Exit((status >> 8) & 0xff)),
            number => Reaped::Process(pid, Ending::Signal(number)),
        },
        _ => Reaped::NoChildren,
    }
}

/// Kills the process group `pid` leads.
pub(crate) fn kill_group(pid: i32) {
    // SAFETY: sending a signal touches no memory; `pid` is above 1, so this is no broadcast.
    unsafe { kill(-pid.max(2), SIGKILL) };
}

/// Kills one process.
pub(crate) fn kill_process(pid: i32) {
    // SAFETY: as above.
    unsafe { kill(pid.max(2), SIGKILL) };
}

/// Kills every process of this pid namespace but the caller, which is its process 1.
pub(crate) fn kill_everything() {
    // SAFETY: the kernel leaves out process 1 and the caller, and sees no process outside the namespace.
    unsafe { kill(-1, SIGKILL) };
}

/// Reads and writes of `fd` return at once from now on.
pub(crate) fn set_nonblocking(fd: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: both commands work on flags only; the descriptor is open, since it is borrowed.
    let flags = check(unsafe { fcntl(fd.as_raw_fd(), F_GETFL) })?;
    // SAFETY: as above.
    check(unsafe { fcntl(fd.as_raw_fd(), F_SETFL, flags | O_NONBLOCK) }).map(drop)
}

/// How many bytes wait in a pipe.
pub(crate) fn queued(fd: &impl AsRawFd) -> usize {
    let mut count: c_int = 0;
    // SAFETY: FIONREAD writes one integer to the place given.
    unsafe { ioctl(fd.as_raw_fd(), FIONREAD, &raw mut count) };
    usize::try_from(count).unwrap_or(0)
}

/// Whether the file belongs to `/proc`.
pub(crate) fn is_proc(fd: &impl AsRawFd) -> bool {
    let mut found = FileSystem { magic: 0, rest: [0; 19] };
    // SAFETY: the place is larger than the structure the call fills.
    unsafe { fstatfs(fd.as_raw_fd(), &raw mut found) };
    found.magic == PROC_MAGIC
}

/// Takes one message of the control socket: a stream that came with it, if any. `None` means that the service is gone.
pub(crate) fn receive(control: &OwnedFd) -> io::Result<Option<Option<UnixStream>>> {
    let mut byte = 0u8;
    let mut slice = Slice { base: (&raw mut byte).cast(), length: 1 };
    let mut ancillary = Ancillary { length: 0, level: 0, kind: 0, descriptor: -1, padding: 0 };
    let mut message = Message {
        name: std::ptr::null_mut(),
        name_length: 0,
        slices: &raw mut slice,
        slice_count: 1,
        control: &raw mut ancillary,
        control_length: size_of::<Ancillary>(),
        flags: 0,
    };
    // SAFETY: every pointer in `message` is to a local that outlives the call, with its true length.
    let got = unsafe { recvmsg(control.as_raw_fd(), &raw mut message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) };
    if got < 0 {
        return Err(io::Error::last_os_error());
    }
    let passed = message.control_length > 0 && ancillary.level == SOL_SOCKET && ancillary.kind == SCM_RIGHTS;
    let stream = (passed && ancillary.descriptor >= 0).then(|| {
        // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
        unsafe { UnixStream::from_raw_fd(ancillary.descriptor) }
    });
    Ok(if got == 0 { None } else { Some(stream) })
}

/// Tells the service that *init* runs; the kernel adds which process that is, if the service asked it to.
pub(crate) fn greet(control: &OwnedFd) -> io::Result<()> {
    // SAFETY: one byte is read from a static.
    let sent = unsafe { send(control.as_raw_fd(), b"1".as_ptr().cast(), 1, MSG_NOSIGNAL) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Connects to a unix socket without ever waiting: a full queue there is an error here.
pub(crate) fn connect_unix(path: &str) -> io::Result<UnixStream> {
    let mut address = UnixAddress { family: AF_UNIX, path: [0; 108] };
    let place = address.path.get_mut(..path.len()).filter(|place| place.len() < 108);
    place.ok_or(io::ErrorKind::InvalidInput)?.copy_from_slice(path.as_bytes());
    // SAFETY: making a socket touches no memory; on success the descriptor is ours alone.
    let stream = unsafe { UnixStream::from_raw_fd(check(socket(c_int::from(AF_UNIX), SOCK_FLAGS, 0))?) };
    let length = c_uint::try_from(size_of::<UnixAddress>()).unwrap_or(110);
    // SAFETY: `address` is a whole socket address of that length, ended by a zero byte.
    check(unsafe { connect(stream.as_raw_fd(), &raw const address, length) })?;
    Ok(stream)
}

/// Starts `command` in a session and process group of its own, under `limits`.
pub(crate) fn start(command: &mut Command, limits: [(Resource, u64); 4]) -> io::Result<Child> {
    // SAFETY: between fork and exec the closure makes system calls only: it neither allocates nor locks.
    unsafe {
        command.pre_exec(move || {
            check(setsid())?;
            // The standard library passes on the mask, in which this process has blocked what it reads otherwise.
            let none = SignalSet([0; 16]);
            check(sigprocmask(SIG_SETMASK, &raw const none, std::ptr::null_mut()))?;
            for (resource, value) in limits {
                let mut limit = ResourceLimit { soft: 0, hard: 0 };
                check(getrlimit(resource as c_uint, &raw mut limit))?;
                let lower = limit.hard.min(value);
                limit = ResourceLimit { soft: limit.soft.min(lower), hard: lower };
                check(setrlimit(resource as c_uint, &raw const limit))?;
            }
            Ok(())
        });
    }
    command.spawn()
}
