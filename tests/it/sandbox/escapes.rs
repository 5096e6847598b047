//! What an agent that does everything an attacker says would try from inside.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use countersign::sandbox::{Backend, End, Error};

use super::{Place, said, sh, text};

/// Calls the kernel directly and prints one line for each try: its name, and `errno` or `DONE`.
const SYSTEM_CALLS: &str = r#"
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, number, *args):
    ctypes.set_errno(0)
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    result = libc.syscall(ctypes.c_long(number), *words)
    if result == 0 and name.startswith("clone"):
        # A child that should not be: it shows itself by the parent's result.
        os._exit(0) if os.getpid() != me else None
    print(name, "DONE" if result >= 0 else errno.errorcode[ctypes.get_errno()])
me = os.getpid()
s = ctypes.create_string_buffer
page = s(4096)
NEWNS, NEWUSER, NEWPID, NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
call("mount tmpfs", 165, s(b"none"), s(b"/tmp"), s(b"tmpfs"), 0, 0)
call("mount bind", 165, s(b"/"), s(b"/tmp"), 0, 4096, 0)
call("mount remount", 165, 0, s(b"/"), 0, 32 | 4096, 0)
call("umount /etc", 166, s(b"/etc"), 2)
call("pivot_root", 155, s(b"/tmp"), s(b"/tmp"))
call("chroot", 161, s(b"/tmp"))
call("open_tree", 428, -100, s(b"/"), 1)
call("fsopen", 430, s(b"tmpfs"), 0)
call("move_mount", 429, -100, s(b"/tmp"), -100, s(b"/work"), 0)
call("unshare user", 272, NEWUSER)
call("unshare mount", 272, NEWNS)
call("unshare net", 272, NEWNET)
call("setns", 308, os.open("/proc/self/ns/user", os.O_RDONLY), 0)
call("clone user", 56, NEWUSER | 17, 0, 0, 0, 0)
call("clone pid", 56, NEWPID | 17, 0, 0, 0, 0)
call("clone3", 435, page, 88)
call("ptrace init", 101, 16, 1, 0, 0)
call("ptrace seize init", 101, 0x4206, 1, 0, 0)
call("process_vm_readv init", 310, 1, page, 1, page, 1, 0)
call("process_vm_writev init", 311, 1, page, 1, page, 1, 0)
call("pidfd_getfd init", 438, libc.syscall(434, 1, 0), 0, 0)
call("kcmp init", 312, 1, me, 0, 0, 0)
call("prlimit init", 302, 1, 0, page, 0)
call("keyctl", 250, 0, -3, 0)
call("add_key", 248, s(b"user"), s(b"x"), s(b"y"), 1, -3)
call("request_key", 249, s(b"user"), s(b"x"), 0, -3)
call("bpf", 321, 0, page, 120)
call("perf_event_open", 298, page, 0, -1, -1, 0)
call("userfaultfd", 323, 1)
call("io_uring_setup", 425, 8, page)
call("fanotify_init", 300, 0, 0)
call("name_to_handle_at", 303, -100, s(b"/work"), page, page, 0)
call("open_by_handle_at", 304, -100, page, 0)
call("kexec_load", 246, 0, 0, 0, 0)
call("kexec_file_load", 320, 0, 0, 0, 0, 0)
call("init_module", 175, page, 1, page)
call("finit_module", 313, 0, page, 0)
call("delete_module", 176, s(b"x"), 0)
call("reboot", 169, 0xfee1dead, 672274793, 0, 0)
call("swapon", 167, s(b"/work/x"), 0)
call("quotactl", 179, 0, 0, 0, 0)
call("acct", 163, s(b"/work/x"))
call("syslog", 103, 3, page, 4096)
call("iopl", 172, 3)
call("ioperm", 173, 0, 1, 1)
call("settimeofday", 164, page, 0)
call("clock_settime", 227, 0, page)
call("sethostname", 170, s(b"x"), 1)
call("personality", 135, 0x0400000)
call("ioctl TIOCSTI", 16, 0, 0x5412, page)
call("ioctl TIOCSTI high bits", 16, 0, 0x5412 | (1 << 32), page)
call("ioctl TIOCLINUX", 16, 0, 0x541C, page)
call("x32 getpid", 0x40000000 | 39)
call("x32 mount", 0x40000000 | 165, s(b"none"), s(b"/tmp"), s(b"tmpfs"), 0, 0)
call("mknod device", 133, s(b"/work/sda"), 0o60666, 0x800)
call("setuid 0", 105, 0)
call("setgid 0", 106, 0)
call("setgroups", 116, 1, page)
call("socket vsock", 41, 40, 1, 0)
call("socket packet", 41, 17, 3, 0)
call("socket alg", 41, 38, 5, 0)
call("socket bluetooth", 41, 31, 3, 0)
call("socket netlink audit", 41, 16, 3, 9)
call("socket raw", 41, 2, 3, 1)
call("chown to root", 92, s(b"/work"), 0, 0)
call("setpriority up", 141, 0, 0, -20)
call("fchmodat init", 268, -100, s(b"/run/countersign/init"), 0o777)
"#;

#[tokio::test]
async fn every_call_that_leads_out_is_refused_by_the_kernel() {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    sandbox.write("calls.py", SYSTEM_CALLS.as_bytes()).await.unwrap();
    let tried = said(&sandbox, "python3 calls.py").await;
    let done: Vec<&str> = tried.lines().filter(|line| line.ends_with("DONE")).collect();
    assert!(done.is_empty(), "{done:?}");
    let tries = SYSTEM_CALLS.lines().filter(|line| line.starts_with("call(")).count();
    assert_eq!(tried.lines().count(), tries, "{tried}");
    assert!(tries >= 60);
    // Refused by the filter, not by chance: a wrong argument would have been another error.
    for line in tried.lines().filter(|line| {
        ["bpf", "perf", "userfaultfd", "io_uring", "keyctl", "socket v", "prlimit"]
            .iter()
            .any(|name| line.starts_with(name))
    }) {
        assert!(line.ends_with(" EPERM"), "{line}");
    }
    assert!(tried.contains("clone3 ENOSYS") && tried.contains("x32 getpid ENOSYS"));
}

#[tokio::test]
async fn what_a_user_could_try_by_hand_is_refused() {
    let Some(place) = Place::new() else { return };
    let canary = place.scratch.path().join("canary");
    fs::write(&canary, "host secret").unwrap();
    let sandbox = place.start().await;
    let canary = canary.display();
    // Each line must fail.
    let tries = [
        "touch /usr/bin/x".to_owned(),
        "touch /etc/x".to_owned(),
        "echo x > /etc/passwd".to_owned(),
        "touch /x".to_owned(),
        "touch /dev/x".to_owned(),
        "mkdir /sys/x".to_owned(),
        "ls /sys".to_owned(),
        "touch /opt/toolchains/x".to_owned(),
        "echo x > /run/countersign/init".to_owned(),
        "mv /work /elsewhere".to_owned(),
        "cat /etc/shadow".to_owned(),
        "cat /etc/gshadow".to_owned(),
        "cat /etc/machine-id".to_owned(),
        "cat /root/.gitconfig /root/.bashrc /root/.cargo/credentials.toml /root/.npmrc".to_owned(),
        format!("cat {canary}"),
        format!("ls {}", place.scratch.path().display()),
        format!("cat /proc/1/root{canary}"),
        format!("cat /proc/self/root{canary}"),
        "cat /proc/1/environ".to_owned(),
        "head -c 1 /proc/1/mem".to_owned(),
        "cat /proc/1/maps".to_owned(),
        "cat /proc/1/auxv".to_owned(),
        "ls /proc/1/fd".to_owned(),
        "ls /proc/1/cwd/".to_owned(),
        "ls /proc/1/root/".to_owned(),
        "readlink /proc/1/exe".to_owned(),
        "ls /proc/1/map_files".to_owned(),
        "cat /proc/1/stack".to_owned(),
        "cat /proc/1/syscall".to_owned(),
        "echo 1000 > /proc/1/oom_score_adj".to_owned(),
        "echo -1000 > /proc/self/oom_score_adj".to_owned(),
        "echo x > /proc/sys/kernel/core_pattern".to_owned(),
        "echo b > /proc/sysrq-trigger".to_owned(),
        "echo 0 > /proc/sys/user/max_user_namespaces".to_owned(),
        "head -c 1 /proc/kcore".to_owned(),
        "grep . /proc/cmdline".to_owned(),
        "grep . /proc/keys".to_owned(),
        "head -c 1 /dev/mem".to_owned(),
        "ls /dev/vda /dev/sda /dev/kvm /dev/kmsg /dev/loop0 /dev/fuse /dev/net/tun".to_owned(),
        "mknod /work/disk b 8 0".to_owned(),
        "mount -t tmpfs none /tmp".to_owned(),
        "umount /work".to_owned(),
        "unshare -U true".to_owned(),
        "unshare -Urm true".to_owned(),
        "nsenter -t 1 -a true".to_owned(),
        "bwrap --ro-bind / / true".to_owned(),
        "gdb -p 1 -batch 2>&1 | grep -v 'not permitted' | grep -q process".to_owned(),
        "su -c id root < /dev/null | grep -q uid=0".to_owned(),
        "sudo -n id".to_owned(),
        "cp /bin/sh s && chmod u+s s && ./s -p -c 'test $(id -u) -eq 0'".to_owned(),
        "chown 0:0 /work".to_owned(),
        "chattr +i .".to_owned(),
        "ls /sys/fs/cgroup /run/docker.sock /var/run/docker.sock".to_owned(),
        "test -S /run/countersign/gateway".to_owned(),
        "dmesg".to_owned(),
        "date -s 2000-01-01".to_owned(),
        "hostname other".to_owned(),
        "ip link add dummy0 type dummy".to_owned(),
        "ip link set lo down".to_owned(),
        "ping -c 1 -W 1 127.0.0.1".to_owned(),
        "renice -n -5 $$".to_owned(),
        "ulimit -c unlimited && test \"$(ulimit -c)\" = unlimited".to_owned(),
    ];
    let mut done = Vec::new();
    for line in &tries {
        if sh(&sandbox, line).await.end == End::Exit(0) {
            done.push(line);
        }
    }
    assert!(done.is_empty(), "these succeeded: {done:#?}");
    assert!(tries.len() >= 60);
    assert_eq!(said(&sandbox, "echo still here").await, "still here");
}

#[tokio::test]
async fn nothing_reaches_process_1_by_signals() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    said(&sandbox, "for s in $(seq 1 64); do kill -$s 1 2>/dev/null; done; true").await;
    sh(&sandbox, "kill -9 -1").await;
    assert_eq!(said(&sandbox, "cat /proc/1/comm").await, "init");
}

#[tokio::test]
async fn the_identity_inside_is_nobodys_outside() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    let status = said(&sandbox, "grep -hE '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status /proc/1/status | cut -f2 | sort -u | tr '\\n' ' '").await;
    assert_eq!(status, "0000000000000000 1 2");
    assert_eq!(said(&sandbox, "id").await, "uid=1000(agent) gid=1000(agent) groups=1000(agent)");
    let setuid = said(&sandbox, "find /usr -xdev -perm /6000 -type f 2>/dev/null | wc -l").await;
    let program = "for p in $(find /usr -xdev -perm -4000 -type f 2>/dev/null | head -n 40); do \
                   timeout 2 $p --version < /dev/null > /dev/null 2>&1 & \
                   grep -hE '^Uid:' /proc/$!/status 2>/dev/null; done | cut -f2- | sort -u; wait";
    let uids = said(&sandbox, program).await;
    assert!(uids.is_empty() || uids == "1000\t1000\t1000\t1000", "one of {setuid} set-id programs became {uids}");
}

#[tokio::test]
async fn the_services_secrets_are_nowhere_inside() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    // The test runner's own environment stands for the service's: none of its values is a secret, any may be.
    let environment = said(
        &sandbox,
        "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'; env; cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'",
    )
    .await;
    for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME", "NEXTEST", "OLDPWD", "RUSTUP_TOOLCHAIN", "LD_LIBRARY_PATH"] {
        assert!(!environment.contains(&format!("{name}=")), "{name} is inside");
    }
    let scratch = place.scratch.path().to_string_lossy().into_owned();
    assert!(!environment.contains(&scratch), "a path of this machine is in a process list");
    assert_eq!(
        said(&sandbox, "ls -l /proc/self/fd | grep -cE 'socket|memfd' || true").await,
        "0",
        "a descriptor was passed on"
    );
    assert_eq!(said(&sandbox, "ls /proc/self/fd | tr '\\n' ' '").await, "0 1 2 3", "the last is the listing's own");
}

#[tokio::test]
async fn no_listener_of_this_machine_is_reached() {
    let Some(place) = Place::new() else { return };
    let reached = Arc::new(AtomicUsize::new(0));
    let tcp = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let name = format!("countersign-{port}");
    let abstract_socket = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let counter = Arc::clone(&reached);
    std::thread::spawn(move || {
        for mut stream in tcp.incoming().flatten() {
            counter.fetch_add(1, Ordering::Relaxed);
            _ = stream.write_all(b"host\n");
        }
    });
    let counter = Arc::clone(&reached);
    std::thread::spawn(move || {
        abstract_socket.incoming().flatten().for_each(|_| _ = counter.fetch_add(1, Ordering::Relaxed));
    });
    let sandbox = place.start().await;
    let script = format!(
        "import socket\n\
         def tcp(host, port=None):\n    return lambda: socket.create_connection((host, port or {port}), timeout=1)\n\
         def unix(name):\n    s = socket.socket(socket.AF_UNIX); return lambda: s.connect(name)\n\
         tries = [tcp(h) for h in ('127.0.0.1', 'localhost', '::1', '0.0.0.0', '10.0.0.1', '172.17.0.1', '192.168.0.1', '169.254.169.254', '100.100.100.200', '8.8.8.8', '2001:4860:4860::8888', 'example.com', 'host.docker.internal')]\n\
         tries += [tcp('127.0.0.1', p) for p in (22, 53, 80, 443, 2375, 2376, 5432, 8080)]\n\
         tries += [unix('\\0{name}'), unix('/run/docker.sock'), unix('/var/run/docker.sock'), unix('/run/dbus/system_bus_socket'), unix('/run/systemd/private')]\n\
         tries += [lambda: socket.getaddrinfo('example.com', 80), lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('8.8.8.8', 53))]\n\
         for i, attempt in enumerate(tries):\n    \
             try: attempt(); print('reached', i)\n    \
             except OSError: pass\n\
         print(len(tries))\n"
    );
    sandbox.write("net.py", script.as_bytes()).await.unwrap();
    assert_eq!(said(&sandbox, "python3 net.py").await, "28");
    assert_eq!(reached.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn two_sandboxes_do_not_see_each_other() {
    let Some(place) = Place::new() else { return };
    let (one, two) = (
        place.backend.start(&place.spec("one")).await.unwrap(),
        place.backend.start(&place.spec("two")).await.unwrap(),
    );
    said(&one, "echo secret | tee /tmp/f ~/f /dev/shm/f f > /dev/null").await;
    sh(&one, "setsid python3 -m http.server 3001 > /dev/null 2>&1 & setsid sleep 7777 > /dev/null 2>&1 &").await;
    said(&one, "until python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 3001))' 2>/dev/null; do sleep 0.05; done").await;
    said(&one, "until ps -e -o args= | grep -q '[s]leep 7777'; do :; done").await;
    assert_eq!(said(&two, "cat /tmp/f ~/f /dev/shm/f f 2>/dev/null | wc -l").await, "0");
    assert_ne!(
        sh(&two, "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 3001))'").await.end,
        End::Exit(0)
    );
    assert_eq!(said(&two, "ps -e -o args= | grep -c '[s]leep 7777' || true").await, "0");
    sh(&two, "kill -9 -1").await;
    assert_eq!(said(&one, "ps -e -o args= | grep -c '[s]leep 7777'").await, "1");
    sh(&two, "ipcmk -M 1000").await;
    assert_eq!(said(&one, "ipcs -m | grep -c 0x || true").await, "0");
    two.end().await.unwrap();
    assert_eq!(said(&one, "cat f").await, "secret");
}

#[tokio::test]
async fn links_that_lead_out_lead_nowhere() {
    let Some(place) = Place::new() else { return };
    let spec = place.spec("tree");
    let canary = place.scratch.path().join("canary");
    fs::write(&canary, "host secret").unwrap();
    std::os::unix::fs::symlink(&canary, spec.tree.join("link")).unwrap();
    std::os::unix::fs::symlink(place.scratch.path(), spec.tree.join("dir")).unwrap();
    let sandbox = place.backend.start(&spec).await.unwrap();
    assert_ne!(sh(&sandbox, "cat link").await.end, End::Exit(0));
    assert_ne!(sh(&sandbox, "cat dir/canary").await.end, End::Exit(0));
    assert!(matches!(sandbox.read("dir/canary", 100).await, Err(Error::NoSuchPath { .. })));
    assert!(sandbox.write("dir/canary", b"x").await.is_err());
    assert_ne!(sh(&sandbox, "ln ../canary hard").await.end, End::Exit(0));
    assert_eq!(fs::read_to_string(canary).unwrap(), "host secret");
}

#[tokio::test]
async fn programs_that_the_service_had_open_are_not_passed_on() {
    let Some(place) = Place::new() else { return };
    // A descriptor without the close-on-exec mark, as a careless library or an inherited one would be.
    let file = fs::File::open("/etc/hostname").unwrap();
    let open = rustix::io::fcntl_dupfd_cloexec(&file, 200).unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    let sandbox = place.start().await;
    let finished = sh(&sandbox, "ls /proc/self/fd | tr '\\n' ' '").await;
    assert_eq!(text(&finished), "0 1 2 3 ");
}
