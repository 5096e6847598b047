//! A tree goes out to a directory and comes back as the same tree.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use countersign::git::{ImportLimits, Kind, TreeLimits};

use super::bench::{Bench, Ready, bytes_path, git, write};

/// Bytes that names are made of: what git, shells, pages and terminals stumble over.
const NAME: &[u8] = b"abcXYZ09 ._-~'\"\\\n\t\x01\x7f\xc3\xa9\xff\xf0*?[]:;&|<>$#!@%^";

fn random_name(random: &mut fastrand::Rng) -> Vec<u8> {
    loop {
        let length = if random.u8(..) < 6 { 200 } else { random.usize(1..9) };
        let name: Vec<u8> = (0..length).map(|_| NAME[random.usize(..NAME.len())]).collect();
        if !matches!(&name[..], b"." | b"..") {
            return name;
        }
    }
}

fn fill(random: &mut fastrand::Rng, directory: &Path, depth: usize) {
    for _ in 0..random.usize(1..6) {
        let path = bytes_path(directory, &random_name(random));
        if path.symlink_metadata().is_ok() {
            continue;
        }
        match random.u8(..10) {
            0..3 if depth > 0 => {
                fs::create_dir(&path).unwrap();
                fill(random, &path, depth - 1);
            }
            3 => symlink(bytes_path(Path::new("../"), &random_name(random)), &path).unwrap(),
            4 => symlink("/etc/passwd", &path).unwrap(),
            kind => {
                let content: Vec<u8> = (0..random.usize(..200)).map(|_| random.u8(..)).collect();
                fs::write(&path, if kind == 5 { &[][..] } else { &content[..] }).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode([0o644, 0o755, 0o700][random.usize(..3)]))
                    .unwrap();
            }
        }
    }
}

#[test]
fn random_trees_come_back_as_they_went_out_and_as_git_sees_them() {
    let ready = Ready::with(&[("a", b"a")]);
    let mut kinds = BTreeSet::new();
    for seed in 0..150 {
        let mut random = fastrand::Rng::with_seed(seed);
        let work = ready.path(&format!("work-{seed}"));
        fs::create_dir(&work).unwrap();
        fill(&mut random, &work, 4);
        let imported = ready.import(&work);
        assert_eq!(imported.left_out, [], "seed {seed}");
        assert_eq!(imported.tree.as_str(), ready.as_git_adds(&work), "seed {seed}");
        let again = ready.path(&format!("again-{seed}"));
        ready.repo.checkout(&imported.tree, &again).unwrap();
        assert_eq!(ready.import(&again).tree, imported.tree, "seed {seed}");
        kinds.extend(ready.repo.list(&imported.tree).unwrap().into_iter().map(|file| format!("{:?}", file.kind)));
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["Executable", "File", "Link"]);
}

#[test]
fn a_checkout_that_nobody_touched_is_the_base_tree_however_odd_that_is() {
    let bench = Bench::new();
    let blob = bench.store("blob", b"content\n");
    let pointer = bench.store("blob", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n");
    let empty = bench.store_tree(&[]);
    let far = "0123456789012345678901234567890123456789";
    let inner = bench.store_tree(&[("100664", b"old-mode", &blob), ("160000", b"inner-module", far)]);
    let tree = bench.store_tree(&[
        ("120000", b".gitmodules", &blob),
        ("100644", b"big.bin", &pointer),
        ("100755", b"caf\xe9\nname", &blob),
        ("40000", b"dir", &inner),
        ("40000", b"empty", &empty),
        ("120000", b"link", &blob),
        ("160000", b"module", far),
        ("100600", b"private", &blob),
        // Not where git sorts them.
        ("100644", b"zz", &blob),
        ("100644", b"za", &blob),
    ]);
    bench.commit_tree("main", &tree);
    let ready = bench.ready();
    let work = ready.checkout("work");
    let imported = ready.import(&work);
    assert_eq!((imported.tree.as_str(), imported.left_out.len()), (&tree[..], 0));
    assert_eq!(fs::read(work.join("big.bin")).unwrap().len(), 70);
    assert_eq!(fs::read_dir(work.join("module")).unwrap().count(), 0);
    assert_eq!(
        ready.repo.import_known(&work, &ready.base.tree, &ImportLimits::default()).unwrap().tree,
        ready.base.tree
    );

    // A change beside the odd entries leaves them as they are; the one that did not lie where git sorts it is sorted in
    // with the change, which a walk over both trees in order shows as changed too.
    write(&work.join("new"), b"new\n");
    let changed = ready.import(&work).tree;
    let diff = ready.repo.diff(&ready.base.tree, &changed, &Default::default()).unwrap();
    assert_eq!(diff.paths().collect::<Vec<_>>(), ["new", "za"]);
}

#[test]
fn what_is_written_is_what_the_tree_says_and_no_link_is_followed() {
    let ready = Ready::with(&[
        ("a/file.txt", b"x\r\ny\n"),
        ("a/run*", b"#!"),
        (".gitattributes", b"* text=auto eol=crlf ident filter=x\n"),
    ]);
    symlink("/nonexistent", ready.path("dangling")).unwrap();
    ready.repo.checkout(&ready.base.tree, &ready.path("dangling")).unwrap_err();
    let work = ready.checkout("work");
    ready.repo.checkout(&ready.base.tree, &work).unwrap_err();
    // The fixture's own git stored the file with plain ends, and `eol=crlf` of the tree has no say in ours.
    assert_eq!(fs::read(work.join("a/file.txt")).unwrap(), b"x\ny\n");
    let mode = |name: &str| fs::metadata(work.join(name)).unwrap().permissions().mode() & 0o111;
    assert_eq!((mode("a/file.txt"), mode("a/run")), (0, 0o111));
}

#[test]
fn an_agents_git_works_and_shares_nothing_with_the_services() {
    let ready = Ready::with(&[("a.txt", b"one\n"), ("bin/run*", b"#!/bin/sh\n"), ("x/y", b"z")]);
    let work = ready.path("work");
    ready.repo.checkout_with_git(&ready.base.tree, &work).unwrap();
    assert_eq!(git(&work, &["status", "--porcelain"]), "");
    assert_eq!(git(&work, &["branch", "--show-current"]).trim(), "work");
    assert_eq!(git(&work, &["rev-parse", "HEAD^{tree}"]).trim(), ready.base.tree.as_str());
    assert_eq!(git(&work, &["log", "--format=%an: %s"]).trim(), "Countersign: The state that work starts from");
    git(&work, &["fsck", "--strict"]);
    write(&work.join("a.txt"), b"two\n");
    assert!(git(&work, &["diff"]).contains("-one\n+two\n"));
    git(&work, &["commit", "--quiet", "--all", "-m", "by the agent"]);

    assert!(!work.join(".git/objects/info/alternates").exists());
    let config = fs::read_to_string(work.join(".git/config")).unwrap();
    let home = ready.bench.home.path().to_str().unwrap();
    assert!(!config.contains(home), "{config}");
    // No object is a second name of one of ours.
    for entry in fs::read_dir(work.join(".git/objects/pack")).unwrap() {
        assert_eq!(entry.unwrap().metadata().unwrap().nlink(), 1);
    }
    fs::remove_dir_all(work.join(".git")).unwrap();
    git(&ready.own(), &["fsck", "--strict"]);
    assert_eq!(ready.repo.file(&ready.base.tree, b"x/y", 10).unwrap().unwrap(), b"z");
}

#[test]
fn files_are_read_from_the_tree_and_never_through_a_link() {
    let bench = Bench::new();
    let (text, target) = (bench.store("blob", b"1\n2\n3"), bench.store("blob", b"/etc/passwd"));
    let inside = bench.store_tree(&[("100644", "課題\n".as_bytes(), &text)]);
    let tree = bench.store_tree(&[
        ("120000", b"AGENTS.md", &target),
        ("40000", b"dir", &inside),
        ("120000", b"link", &target),
    ]);
    bench.commit_tree("main", &tree);
    let ready = bench.ready();
    let read = |path: &[u8], max| ready.repo.file(&ready.base.tree, path, max).unwrap();
    let none: [&[u8]; 10] =
        [b"AGENTS.md", b"dir", b"link/x", b"", b"/", b"dir/", b"../dir", b"dir/../dir/x", b"no", b"dir/no"];
    for path in none {
        assert_eq!(read(path, 100), None, "{path:?}");
    }
    assert_eq!(read("dir/課題\n".as_bytes(), 3).unwrap(), b"1\n2");
    // As it is shown, so it may be cited.
    assert_eq!(ready.repo.line_count(&ready.base.tree, "dir/課題\\n".as_bytes()).unwrap(), Some(3));
    let kinds: Vec<_> = ready.repo.list(&ready.base.tree).unwrap().into_iter().map(|file| file.kind).collect();
    assert_eq!(kinds, [Kind::Link, Kind::File, Kind::Link]);
    assert_eq!(ready.repo.regular_files(&ready.base.tree).unwrap(), ["dir/課題\n".as_bytes()]);
    let size = ready.repo.measure(&ready.base.tree, &TreeLimits::default()).unwrap();
    assert_eq!((size.entries, size.bytes), (4, 27));
}
