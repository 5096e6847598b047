//! Files for the agent's tools, and the work tree on its way in and out.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::{Duration, Instant};

use countersign::sandbox::{Backend, Error, Namespace, NamespaceSettings};

use super::{Place, said, sh};

#[tokio::test]
async fn what_was_written_is_what_is_read() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    let bytes: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
    sandbox.write("a/b/c.bin", &bytes).await.unwrap();
    assert!(sandbox.read("a/b/c.bin", usize::MAX).await.unwrap() == bytes);
    assert!(sandbox.read("/work/a/b/c.bin", 1000).await.unwrap() == bytes[..1000]);
    assert_eq!(fs::read(place.scratch.path().join("tree/a/b/c.bin")).unwrap().len(), bytes.len());
    sandbox.write("a/b/c.bin", b"shorter").await.unwrap();
    assert_eq!(sandbox.read("a/b/c.bin", 100).await.unwrap(), b"shorter");
    sandbox.write("/tmp/empty", b"").await.unwrap();
    assert_eq!(sandbox.read("/tmp/empty", 100).await.unwrap(), b"");
}

#[tokio::test]
async fn a_file_keeps_its_mode_and_a_new_one_belongs_to_the_sandboxs_user() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    sandbox.write("run.sh", b"#!/bin/sh\necho one\n").await.unwrap();
    assert_eq!(said(&sandbox, "stat -c '%a %U' run.sh; chmod 755 run.sh; ./run.sh").await, "644 agent\none");
    sandbox.write("run.sh", b"#!/bin/sh\necho two\n").await.unwrap();
    assert_eq!(said(&sandbox, "./run.sh").await, "two");
}

#[tokio::test]
async fn what_is_not_a_regular_file_is_refused_without_waiting() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    said(
        &sandbox,
        "mkfifo pipe; mkdir dir; ln -s target link; echo x > target; ln -s /dev/zero zero; ln -s nowhere dangling",
    )
    .await;
    let began = Instant::now();
    for path in ["pipe", "dir", "link", "zero", "dangling", "/dev/null", "/dev/zero", "/proc/cpuinfo", "."] {
        assert!(matches!(sandbox.read(path, 100).await, Err(Error::NotRegular { .. })), "read {path}");
    }
    for path in ["pipe", "dir", "link", "zero", "dangling", "/dev/null"] {
        assert!(matches!(sandbox.write(path, b"y").await, Err(Error::NotRegular { .. })), "write {path}");
    }
    assert_eq!(said(&sandbox, "cat target; test ! -e nowhere").await, "x");
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn what_may_not_be_touched_is_refused() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    assert!(matches!(sandbox.read("missing", 100).await, Err(Error::NoSuchPath { path }) if path == "missing"));
    assert!(matches!(sandbox.read("/etc/shadow", 100).await, Err(Error::NoSuchPath { .. })));
    for path in ["/usr/bin/new", "/etc/passwd", "/new", "/proc/sys/kernel/core_pattern"] {
        assert!(matches!(sandbox.write(path, b"x").await, Err(Error::Denied { .. })), "{path}");
    }
    for path in ["/proc/1/environ", "/proc/1/mem", "/proc/self/mem", "/proc/1/maps", "/proc/1/fd/0"] {
        let result = sandbox.read(path, 100).await;
        assert!(matches!(result, Err(Error::Denied { .. } | Error::NotRegular { .. })), "{path}: {result:?}");
    }
    let too_large = vec![0; (16 << 20) + 1];
    assert!(matches!(sandbox.write("large", &too_large).await, Err(Error::TooLarge { .. })));
    sandbox.write("large", &too_large[1..]).await.unwrap();
    said(&sandbox, "mkdir closed; echo secret > closed/file; chmod 000 closed").await;
    assert!(matches!(sandbox.read("closed/file", 100).await, Err(Error::Denied { .. })));
}

#[tokio::test]
async fn a_tree_that_was_not_handed_over_is_refused() {
    let Some(place) = Place::new() else { return };
    let mut spec = place.spec("tree");
    for (name, make) in [("missing", 0), ("file", 1), ("link", 2)] {
        spec.tree = place.scratch.path().join(name);
        match make {
            1 => fs::write(&spec.tree, "x").unwrap(),
            2 => symlink(place.tree("tree"), &spec.tree).unwrap(),
            _ => {}
        }
        assert!(matches!(place.backend.start(&spec).await, Err(Error::BadTree { .. })), "{name}");
        assert!(matches!(place.backend.hand_over(&spec.tree), Err(Error::BadTree { .. })) || !is_root(), "{name}");
    }
    if is_root() {
        spec.tree = place.scratch.path().join("mine");
        fs::create_dir(&spec.tree).unwrap();
        assert!(matches!(place.backend.start(&spec).await, Err(Error::BadTree { .. })));
    }
}

#[tokio::test]
async fn a_tree_in_a_home_that_is_closed_to_others_is_reached() {
    let Some(place) = Place::new() else { return };
    let home = place.scratch.path().join("home");
    let mut spec = place.spec("home/tree");
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    let socket = home.join("gateway.sock");
    let _gateway = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    spec.gateway = Some(socket);
    let settings = NamespaceSettings::new(home.join("sandboxes"));
    let backend = Namespace::new(&settings).unwrap();
    let sandbox = backend.start(&spec).await.unwrap();
    said(&sandbox, "echo x > file; test -S /run/countersign/gateway").await;
    assert_eq!(fs::read_to_string(spec.tree.join("file")).unwrap(), "x\n");
    assert_eq!(fs::metadata(&home).unwrap().permissions().mode() & 0o777, 0o700);
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(&*home.to_string_lossy()), "the machine's own mount table was touched");
    assert!(fs::exists("/sys/kernel").unwrap());
    sandbox.end().await.unwrap();
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

#[tokio::test]
async fn handing_over_follows_no_link_and_gives_away_no_second_name() {
    let Some(place) = Place::new() else { return };
    if !is_root() {
        return;
    }
    let (outside, tree) = (place.scratch.path().join("outside"), place.scratch.path().join("linked"));
    fs::create_dir_all(tree.join("deep/er")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "x").unwrap();
    symlink(&outside, tree.join("deep/link")).unwrap();
    symlink(outside.join("file"), tree.join("deep/er/link")).unwrap();
    place.backend.hand_over(&tree).unwrap();
    assert_eq!(fs::metadata(&outside).unwrap().uid(), 0);
    assert_eq!(fs::metadata(outside.join("file")).unwrap().uid(), 0);
    assert_eq!(fs::symlink_metadata(tree.join("deep/er/link")).unwrap().uid(), 61357);
    fs::hard_link(outside.join("file"), tree.join("second")).unwrap();
    assert!(matches!(place.backend.hand_over(&tree), Err(Error::BadTree { .. })));
    assert_eq!(fs::metadata(outside.join("file")).unwrap().uid(), 0);
}

#[tokio::test]
async fn a_tree_can_be_taken_back_whatever_was_done_to_it() {
    let Some(place) = Place::new() else { return };
    let spec = place.spec("tree");
    let sandbox = place.backend.start(&spec).await.unwrap();
    said(&sandbox, "mkdir -p a/b; echo x > a/b/file; ln -s / a/root; mkfifo a/pipe; chmod 000 a/b/file a/b a .").await;
    sandbox.end().await.unwrap();
    place.backend.take_back(&spec.tree).unwrap();
    assert_eq!(fs::read_to_string(spec.tree.join("a/b/file")).unwrap(), "x\n");
    let own = fs::metadata("/proc/self").unwrap().uid();
    assert_eq!(fs::symlink_metadata(spec.tree.join("a/b/file")).unwrap().uid(), own);
    assert_ne!(fs::metadata("/").unwrap().permissions().mode() & 0o777, 0o700);
    place.backend.hand_over(&spec.tree).unwrap();
    let again = place.backend.start(&spec).await.unwrap();
    assert_eq!(said(&again, "cat a/b/file").await, "x");
}

/// More levels than are ever entered: what lies below them stays as it is, and the rest is taken back.
#[tokio::test]
async fn a_tree_without_end_is_taken_back_as_far_as_anybody_looks() {
    let Some(place) = Place::new() else { return };
    let spec = place.spec("tree");
    let sandbox = place.backend.start(&spec).await.unwrap();
    let deep = "import os\nfor i in range(3000):\n os.mkdir('d'); os.chdir('d')";
    sandbox.write("deep.py", deep.as_bytes()).await.unwrap();
    said(&sandbox, "python3 deep.py; mkdir z; echo x > z/file; chmod 000 z/file z").await;
    sandbox.end().await.unwrap();
    place.backend.take_back(&spec.tree).unwrap();
    assert_eq!(fs::read_to_string(spec.tree.join("z/file")).unwrap(), "x\n");
}

#[tokio::test]
async fn a_tree_can_be_removed_whatever_was_done_to_it() {
    let Some(place) = Place::new() else { return };
    let spec = place.spec("tree");
    let sandbox = place.backend.start(&spec).await.unwrap();
    // 3,000 levels: more than a path can name, and more than there are descriptors.
    let deep = "import os\nfor i in range(3000):\n os.mkdir('d'); os.chdir('d')\nopen('bottom', 'w')";
    sandbox.write("deep.py", deep.as_bytes()).await.unwrap();
    said(
        &sandbox,
        "python3 deep.py; mkdir -p closed/in; echo x > closed/in/file; chmod 000 closed/in closed; ln -s / root",
    )
    .await;
    sandbox.end().await.unwrap();
    place.backend.remove(&spec.tree).unwrap();
    assert!(!spec.tree.exists() && fs::exists("/usr").unwrap());
    place.backend.remove(&spec.tree).unwrap();
}

/// As when a step's own tree and all trees of its run are let go of at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn a_tree_can_be_removed_by_many_at_once() {
    let Some(place) = Place::new() else { return };
    let trees = place.scratch.path().join("trees");
    let tree = trees.join("one");
    for wide in 0..20 {
        fs::create_dir_all(tree.join(format!("{wide}/{}", "d/".repeat(450)))).unwrap();
        (0..200).for_each(|n| fs::write(tree.join(format!("{wide}/{n}")), "").unwrap());
    }
    std::thread::scope(|scope| {
        let removals = [&trees, &tree, &tree, &trees].map(|of| scope.spawn(|| place.backend.remove(of)));
        removals.into_iter().for_each(|removal| removal.join().unwrap().unwrap());
    });
    assert!(!trees.exists());
}

#[tokio::test]
async fn a_name_that_is_not_text_is_a_tree_too() {
    let Some(place) = Place::new() else { return };
    use std::os::unix::ffi::OsStringExt;
    let name = std::ffi::OsString::from_vec(b"tr\xff ee\n--bind".to_vec());
    let mut spec = place.spec("tree");
    spec.tree = place.scratch.path().join(name);
    fs::create_dir(&spec.tree).unwrap();
    fs::write(spec.tree.join("here"), "").unwrap();
    place.backend.hand_over(&spec.tree).unwrap();
    let sandbox = place.backend.start(&spec).await.unwrap();
    assert_eq!(said(&sandbox, "ls").await, "here");
    sh(&sandbox, "true").await;
}
