//! The same without root: the service's own user is then the sandbox's user.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output};

use countersign::sandbox::{Backend, End, Error, Grip, Limits, Namespace, NamespaceSettings, Spec};
use tempfile::TempDir;

use super::{Place, alone, assert_passed, said, sh, text};

/// Any user but root will do; this one owns nothing.
const NOBODY: &str = "65534";

/// Runs one of the ignored tests below as an ordinary user if this is root, and under the given search path.
fn again(test: &str, path: Option<&Path>) -> Output {
    let mut command = alone(test);
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        let inner = command;
        command = Command::new("/usr/bin/setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"]);
        command.arg(inner.get_program()).args(inner.get_args());
    }
    command.env("HOME", "/nonexistent").env("TMPDIR", "/tmp");
    if let Some(path) = path {
        command.env("PATH", path);
    }
    command.output().unwrap()
}

#[test]
fn an_ordinary_user_gets_the_same_isolation_with_weaker_limits() {
    if Place::new().is_some() {
        assert_passed(&again("sandbox::unrooted::inner_ordinary_user", None));
    }
}

#[tokio::test]
#[ignore = "started as another user by an_ordinary_user_gets_the_same_isolation_with_weaker_limits"]
async fn inner_ordinary_user() {
    let place = Place::new().unwrap();
    let tree = place.tree("tree");
    let limits = Limits { memory: 300 << 20, processes: 40, ..Limits::default() };
    let spec = Spec { limits, ..place.spec("tree") };
    let sandbox = place.backend.start(&spec).await.unwrap();
    assert_eq!(said(&sandbox, "id -u; id -g; pwd").await, "1000\n1000\n/work");
    assert_eq!(
        said(&sandbox, "grep -hE '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | cut -f2 | tr '\\n' ' '")
            .await,
        "0000000000000000 0000000000000000 1 2"
    );
    assert_ne!(sh(&sandbox, "unshare -U true").await.end, End::Exit(0));
    assert_ne!(sh(&sandbox, "cat /proc/1/environ").await.end, End::Exit(0));
    assert_eq!(sh(&sandbox, "kill -9 $$").await.end, End::Signal(9));
    said(&sandbox, "echo x > file").await;
    let own = fs::metadata("/proc/self").unwrap().uid();
    assert_eq!(fs::metadata(tree.join("file")).unwrap().uid(), own);
    if place.backend.grips().memory != Grip::Whole {
        let hog = sh(&sandbox, "python3 -c 'x = bytearray(600 << 20)'").await;
        assert_eq!(hog.end, End::Exit(1));
        assert!(text(&hog).contains("MemoryError"), "{}", text(&hog));
    }
    if place.backend.grips().processes != Grip::Whole {
        let many = sh(&sandbox, "i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i+1)); done; ps -e | wc -l").await;
        assert_ne!(many.end, End::Exit(0), "{}", text(&many));
        sandbox.kill_commands().await.unwrap();
    }
    let strict = NamespaceSettings { strict: true, ..NamespaceSettings::new(place.scratch.path().join("strict")) };
    if place.backend.grips().cpu != Grip::Whole {
        assert!(matches!(Namespace::new(&strict), Err(Error::LimitRefused { .. })));
    }
    said(&sandbox, "mkdir -p a/b; echo x > a/b/c; chmod 000 a/b/c a/b a").await;
    sandbox.end().await.unwrap();
    place.backend.take_back(&tree).unwrap();
    assert_eq!(fs::read_to_string(tree.join("a/b/c")).unwrap(), "x\n");
    place.backend.remove(&tree).unwrap();
    assert!(!tree.exists());
}

#[test]
fn without_bwrap_nothing_is_run_and_the_refusal_says_what_to_install() {
    let empty = tempfile::tempdir().unwrap();
    fs::set_permissions(empty.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = empty.path().join("bin");
    fs::create_dir(&path).unwrap();
    assert_passed(&again("sandbox::unrooted::inner_without_bwrap", Some(&path)));
    // An old one is refused like none.
    fs::write(path.join("bwrap"), "#!/bin/sh\necho bubblewrap 0.4.1\n").unwrap();
    fs::set_permissions(path.join("bwrap"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_passed(&again("sandbox::unrooted::inner_without_bwrap", Some(&path)));
}

#[test]
#[ignore = "started with an empty search path by without_bwrap_nothing_is_run_and_the_refusal_says_what_to_install"]
fn inner_without_bwrap() {
    let scratch = TempDir::new().unwrap();
    let error = Namespace::new(&NamespaceSettings::new(scratch.path().join("sandboxes"))).unwrap_err();
    assert!(matches!(error, Error::NoBackend { .. }), "{error}");
    assert!(error.to_string().contains("apt install bubblewrap"), "{error}");
}
