//! Whatever an agent leaves is taken as it is or left out with its reason, and nothing of it is an error.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use countersign::git::{ImportLimits, Imported, Reason};
use rustix::fs::{CWD, FileType, Mode};

use super::bench::{Bench, Ready, bytes_path, command, git, try_git, write};

const BASE: &[(&str, &[u8])] =
    &[("kept.txt", b"kept\n"), ("dir/file", b"file\n"), (".gitignore", b"*.log\n/out/\n"), ("run*", b"#!/bin/sh\n")];

/// What the tree has beside the base, as `mode path`, `-path` for what is gone; and what was left out.
fn told(ready: &Ready, imported: &Imported) -> String {
    let list = |tree: &str| -> Vec<String> {
        let listed = git(&ready.own(), &["ls-tree", "-r", tree]);
        listed.lines().map(str::to_owned).collect()
    };
    let (before, now) = (list(ready.base.tree.as_str()), list(imported.tree.as_str()));
    let name = |line: &str| line.split('\t').nth(1).unwrap().to_owned();
    let paths: Vec<String> = now.iter().map(|l| name(l)).collect();
    let new =
        now.iter().filter(|l| !before.contains(l)).map(|l| format!("{} {}", l.split(' ').next().unwrap(), name(l)));
    let gone = before.iter().map(|l| name(l)).filter(|path| !paths.contains(path)).map(|path| format!("-{path}"));
    let left = imported.left_out.iter().map(ToString::to_string);
    new.chain(gone).chain(left).collect::<Vec<_>>().join(" | ")
}

fn node(path: &Path, kind: FileType) {
    rustix::fs::mknodat(CWD, path, kind, Mode::from_raw_mode(0o644), 0).unwrap();
}

const GITLINK: &str = "160000,1234567890123456789012345678901234567890,module";

type Plant = fn(&Path);

const LEFT_BY_AGENTS: &[(&str, Plant, &str)] = &[
    ("a new file", |at| write(&at.join("new"), b"new"), "100644 new"),
    ("a file that became executable", |at| chmod(&at.join("kept.txt"), 0o755), "100755 kept.txt"),
    ("a file that is no longer executable", |at| chmod(&at.join("run"), 0o644), "100644 run"),
    ("any other mode", |at| chmod(&at.join("kept.txt"), 0o4606), ""),
    ("a link inside", |at| symlink("kept.txt", at.join("link")).unwrap(), "120000 link"),
    ("a link to nothing", |at| symlink("nowhere", at.join("link")).unwrap(), "120000 link"),
    ("a link out", |at| symlink("../../../etc/passwd", at.join("link")).unwrap(), "120000 link"),
    ("a link to a directory of the host", |at| symlink("/etc", at.join("etc")).unwrap(), "120000 etc"),
    ("a link onto itself", |at| symlink("link", at.join("link")).unwrap(), "120000 link"),
    ("a second name of a file", |at| fs::hard_link(at.join("kept.txt"), at.join("twin")).unwrap(), "100644 twin"),
    ("a pipe", |at| node(&at.join("pipe"), FileType::Fifo), "pipe: a pipe, socket or device"),
    ("a socket", |at| drop(UnixListener::bind(at.join("s")).unwrap()), "s: a pipe, socket or device"),
    ("an empty directory", |at| fs::create_dir(at.join("empty")).unwrap(), ""),
    (
        "a repository inside",
        |at| {
            fs::create_dir_all(at.join("sub")).unwrap();
            git(&at.join("sub"), &["init", "--quiet"]);
            write(&at.join("sub/code"), b"code");
        },
        "100644 sub/code | sub/.git/: a repository inside the tree",
    ),
    (
        "a file that points to a repository elsewhere",
        |at| write(&at.join("sub/.git"), b"gitdir: /srv/other/.git\n"),
        "sub/.git: a repository inside the tree",
    ),
    (
        "names that other systems take for a repository",
        |at| {
            write(&at.join("sub/.GIT/config"), b"");
            write(&at.join("sub/git~1/config"), b"");
        },
        "sub/.GIT/: a repository inside the tree | sub/git~1/: a repository inside the tree",
    ),
    (
        "a list of submodules that is a link",
        |at| symlink("/etc/passwd", at.join(".gitmodules")).unwrap(),
        ".gitmodules: a link that forges refuse",
    ),
    ("what the base ignores", |at| write(&at.join("a.log"), b""), "a.log: ignored by the repository's own rules"),
    (
        "what the base ignores, let in by rules of the agent's",
        |at| {
            write(&at.join(".gitignore"), b"kept.txt\nnew\n!*.log\n");
            write(&at.join("a.log"), b"");
            write(&at.join("new"), b"");
        },
        "100644 .gitignore | 100644 new | a.log: ignored by the repository's own rules",
    ),
    (
        "output of a build",
        |at| write(&at.join("node_modules/left-pad/index.js"), b""),
        "node_modules/: output of a build",
    ),
    (
        "a file that became a pipe",
        |at| {
            fs::remove_file(at.join("kept.txt")).unwrap();
            node(&at.join("kept.txt"), FileType::Fifo);
        },
        "kept.txt: a pipe, socket or device; the version of the base stands",
    ),
    (
        "a file that became a link to the host's",
        |at| {
            fs::remove_file(at.join("kept.txt")).unwrap();
            symlink("/etc/passwd", at.join("kept.txt")).unwrap();
        },
        "120000 kept.txt",
    ),
    (
        "a file that became a directory",
        |at| {
            fs::remove_file(at.join("kept.txt")).unwrap();
            write(&at.join("kept.txt/inside"), b"x");
        },
        "100644 kept.txt/inside | -kept.txt",
    ),
    (
        "a directory that became a file",
        |at| {
            fs::remove_dir_all(at.join("dir")).unwrap();
            write(&at.join("dir"), b"x");
        },
        "100644 dir | -dir/file",
    ),
    (
        "a directory that became a link to the host's",
        |at| {
            fs::remove_dir_all(at.join("dir")).unwrap();
            symlink("/etc", at.join("dir")).unwrap();
        },
        "120000 dir | -dir/file",
    ),
    (
        "a file in the place of an ignored directory, and one of a directory",
        |at| {
            write(&at.join("out"), b"");
            fs::create_dir(at.join("x.log")).unwrap();
            write(&at.join("x.log/inside"), b"");
        },
        "100644 out | x.log/: ignored by the repository's own rules",
    ),
    ("a name that is not UTF-8", |at| write(&bytes_path(at, b"caf\xe9"), b""), "100644 \"caf\\351\""),
    ("a name with a line break", |at| write(&at.join("a\nb"), b""), "100644 \"a\\nb\""),
    (
        "names that differ in case alone",
        |at| {
            write(&at.join("KEPT.txt"), b"");
            write(&at.join("Dir/file"), b"");
        },
        "100644 Dir/file | 100644 KEPT.txt",
    ),
    (
        "attributes that would make git change what it stores",
        |at| {
            write(&at.join(".gitattributes"), b"* text eol=lf ident working-tree-encoding=UTF-16 filter=lfs\n");
            write(&at.join("windows.txt"), b"$Id: x $\r\n");
        },
        "100644 .gitattributes | 100644 windows.txt",
    ),
    (
        "a virtual environment and a cache, by what is in them",
        |at| {
            write(&at.join("env/pyvenv.cfg"), b"home = /usr\n");
            write(&at.join("cache/CACHEDIR.TAG"), b"Signature: 8a477f597d28d172789f06886806bc55\n");
            write(&at.join("mine/CACHEDIR.TAG"), b"mine");
        },
        "100644 mine/CACHEDIR.TAG | cache/: output of a build | env/: output of a build",
    ),
    (
        "nothing at all",
        |at| {
            for entry in fs::read_dir(at).unwrap().map(Result::unwrap) {
                let gone = if entry.path().is_dir() { fs::remove_dir_all } else { fs::remove_file };
                gone(entry.path()).unwrap();
            }
        },
        "-.gitignore | -dir/file | -kept.txt | -run",
    ),
];

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn each_thing_that_an_agent_can_leave_has_its_own_stated_outcome() {
    let ready = Ready::with(BASE);
    for (n, (what, plant, expected)) in LEFT_BY_AGENTS.iter().enumerate() {
        let work = ready.checkout(&format!("work-{n}"));
        plant(&work);
        assert_eq!(told(&ready, &ready.import(&work)), *expected, "{what}");
    }
}

/// All of it at once, beside a good change: one bad entry costs nothing but itself.
#[test]
fn a_good_change_is_taken_whatever_lies_beside_it() {
    let ready = Ready::with(BASE);
    let work = ready.checkout("work");
    write(&work.join("good.rs"), b"fn good() {}\n");
    node(&work.join("pipe"), FileType::Fifo);
    write(&work.join("sub/.git/config"), b"[core]\n");
    let mut deep = work.join("deep");
    for _ in 0..ImportLimits::default().depth + 20 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).unwrap();
    write(&deep.join("bottom"), b"");
    let name = "n".repeat(250);
    let long = (0..16).fold(work.join("long"), |path, _| path.join(&name));
    // The path is longer than one system call takes; each directory is made from the one before it.
    let mut at = rustix::fs::open(&work, rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap();
    for part in long.strip_prefix(&work).unwrap() {
        rustix::fs::mkdirat(&at, part, Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, part, rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let huge = fs::File::create(work.join("huge")).unwrap();
    huge.set_len(1 << 40).unwrap();

    let imported = ready.import(&work);
    let text = told(&ready, &imported);
    assert!(text.starts_with("100644 good.rs | "), "{text}");
    for reason in [
        "pipe: a pipe, socket or device",
        "sub/.git/: a repository inside the tree",
        "too many directories deep",
        "its path is too long",
        "huge: too large (1099511627776 bytes)",
    ] {
        assert!(text.contains(reason), "{reason}: {text}");
    }
}

#[test]
fn an_agents_own_commits_index_and_settings_have_no_say_in_what_is_taken() {
    let tricks: &[(&str, &[&[&str]])] = &[
        ("two commits", &[&["commit", "-qam", "one"], &["commit", "-q", "--allow-empty", "-m", "two"]]),
        ("another branch", &[&["switch", "-qc", "elsewhere"], &["commit", "-qam", "there"]]),
        ("an amended first commit", &[&["commit", "-qa", "--amend", "-m", "as if nothing had been"]]),
        ("no branch at all", &[&["checkout", "-q", "--detach"]]),
        ("a file that is said not to change", &[&["update-index", "--assume-unchanged", "kept.txt"]]),
        ("a file that is not to be in the work tree", &[&["update-index", "--skip-worktree", "kept.txt"]]),
        ("an empty index", &[&["rm", "-rq", "--cached", "."]]),
        ("a stash of something else", &[&["stash", "-q"], &["stash", "apply", "-q"]]),
        ("rules of its own", &[&["config", "core.excludesFile", "everything"], &["config", "core.fileMode", "false"]]),
        ("a repository in the index only", &[&["update-index", "--add", "--cacheinfo", GITLINK]]),
        ("another work tree", &[&["config", "core.worktree", "/etc"]]),
        ("a replaced object", &[&["replace", "HEAD^{tree}", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"]]),
    ];
    let ready = Ready::with(BASE);
    for (n, (what, commands)) in tricks.iter().enumerate() {
        let work = ready.path(&format!("work-{n}"));
        ready.repo.checkout_with_git(&ready.base.tree, &work).unwrap();
        git(&work, &["hash-object", "-t", "tree", "-w", "/dev/null"]);
        write(&work.join("kept.txt"), b"changed\n");
        write(&work.join("new"), b"new\n");
        for command in *commands {
            git(&work, command);
        }
        assert_eq!(told(&ready, &ready.import(&work)), "100644 kept.txt | 100644 new", "{what}");
    }
}

/// What the base has never competes with what is new, whichever limit is reached.
#[test]
fn at_each_limit_the_bases_own_files_are_still_seen() {
    let default = ImportLimits::default();
    for (limits, reason) in [
        (ImportLimits { total: 10, ..default.clone() }, "there are too many new files, or they are too large together"),
        (
            ImportLimits { entries: 3, ..default.clone() },
            "there are too many new files, or they are too large together",
        ),
        (ImportLimits { looked_at: 8, ..default.clone() }, "too many new entries to look at"),
        (ImportLimits { file: 20, ..default.clone() }, "too large (30 bytes)"),
        (ImportLimits { path: 5, ..default }, "its path is too long"),
    ] {
        let ready = Ready::with(BASE);
        let work = ready.checkout("work");
        for n in 0..40 {
            write(&work.join(format!("new-{n:02}")), &[b'x'; 30]);
        }
        write(&work.join("kept.txt"), b"better\n");
        fs::remove_file(work.join("dir/file")).unwrap();
        let imported = ready.repo.import(&work, &ready.base.tree, &limits).unwrap();
        let text = told(&ready, &imported);
        assert!(text.contains("100644 kept.txt") && text.contains("-dir/file"), "{reason}: {text}");
        assert!(text.contains(reason), "{text}");
    }
}

#[test]
fn when_time_is_up_the_base_stands_and_that_is_told() {
    let ready = Ready::with(BASE);
    let work = ready.checkout("work");
    write(&work.join("kept.txt"), b"not reached\n");
    let limits = ImportLimits { time: Duration::ZERO, ..ImportLimits::default() };
    let imported = ready.repo.import(&work, &ready.base.tree, &limits).unwrap();
    assert_eq!(imported.tree, ready.base.tree);
    assert!(imported.left_out.iter().any(|l| l.reason == Reason::OutOfTime && l.base_stands), "{imported:?}");
}

/// Something that still runs swaps a directory and a link out of the tree for each other while the tree is taken.
#[test]
fn a_tree_that_changes_meanwhile_lets_nothing_from_elsewhere_in() {
    let ready = Ready::with(BASE);
    let (work, outside) = (ready.checkout("work"), ready.path("outside"));
    write(&outside.join("file"), b"a secret of the host\n");
    let secret = git(&ready.own(), &["hash-object", outside.join("file").to_str().unwrap()]);
    symlink(&outside, work.join("link")).unwrap();
    symlink(outside.join("file"), work.join("leaf")).unwrap();
    let swap = |one: &str, other: &str| {
        let at = |name: &str| work.join(name);
        rustix::fs::renameat_with(CWD, at(one), CWD, at(other), rustix::fs::RenameFlags::EXCHANGE).unwrap();
    };
    let over = AtomicBool::new(false);
    let mut seen = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                swap("dir", "link");
                swap("kept.txt", "leaf");
            }
        });
        while seen.0 < 20 || seen.1 < 20 {
            let tree = ready.import(&work).tree;
            let is_link = |name: &str| git(&ready.own(), &["ls-tree", tree.as_str(), name]).starts_with("120000");
            seen = (seen.0 + usize::from(is_link("dir")), seen.1 + usize::from(is_link("kept.txt")));
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(try_git(&ready.own(), &["cat-file", "-e", secret.trim()]), None, "the host's file was read");
}

/// A submodule is an empty directory here. What an agent does to it is its removal, another kind of entry, or left out.
#[test]
fn nothing_is_taken_from_inside_a_submodule_and_its_pointer_stays() {
    let rows: &[(&str, Plant, &str)] = &[
        ("as it was", |_| (), ""),
        (
            "files in it",
            |at| write(&at.join("module/code"), b"x"),
            "module: files in the place of a submodule; the version of the base stands",
        ),
        (
            "a clone of it",
            |at| write(&at.join("module/.git/HEAD"), b"ref: refs/heads/main\n"),
            "module: files in the place of a submodule; the version of the base stands",
        ),
        ("its removal", |at| fs::remove_dir(at.join("module")).unwrap(), "-module"),
        (
            "a link in its place",
            |at| {
                fs::remove_dir(at.join("module")).unwrap();
                symlink("/etc", at.join("module")).unwrap();
            },
            "120000 module",
        ),
        (
            "a pipe in its place",
            |at| {
                fs::remove_dir(at.join("module")).unwrap();
                node(&at.join("module"), FileType::Fifo);
            },
            "module: a pipe, socket or device; the version of the base stands",
        ),
    ];
    let bench = Bench::new();
    let file = bench.store("blob", b"one\n");
    let tree = bench
        .store_tree(&[("100644", b"a.txt", &file), ("160000", b"module", "1234567890123456789012345678901234567890")]);
    bench.commit_tree("main", &tree);
    let ready = bench.ready();
    for (n, (what, plant, expected)) in rows.iter().enumerate() {
        let work = ready.checkout(&format!("work-{n}"));
        plant(&work);
        assert_eq!(told(&ready, &ready.import(&work)), *expected, "{what}");
    }
}

/// Pieces of names that some file system takes for git's own, in every order.
const PIECES: [&str; 19] = [
    ".git", ".GIT", "git", "GIT", "~1", "~2", "~10", "modules", "Modules", "mod", "gi7eba", "gi7e", " ", ".", ":x",
    "\\", "\u{200c}", "\u{feff}", "x",
];

/// Forges check what is pushed as `git fsck` does. What it would refuse for its name is left out, and nothing else is.
#[test]
fn names_are_left_out_exactly_where_git_would_refuse_them() {
    let ready = Ready::with(&[("a", b"a")]);
    let mut random = fastrand::Rng::with_seed(11);
    let mut names: Vec<String> =
        [".gitmodules", ".GitModules", ".gitmodules ", ".gitmodules:x", "gitmod~1", "GITMOD~4", "gitmod~5", "gi7eba~1"]
            .map(str::to_owned)
            .to_vec();
    names.extend(
        [".g\u{200c}itmodules", "gi7eb~10", "x\\.gitmodules", ".git\\x", "git~1 .", ".gitmodule"].map(str::to_owned),
    );
    for _ in 0..400 {
        names.push((0..random.usize(1..5)).map(|_| PIECES[random.usize(..PIECES.len())]).collect());
    }
    names.retain(|name| !matches!(name.as_str(), "." | ".." | ".git"));
    names.sort_unstable();
    names.dedup();
    let blob = ready.bench.store("blob", b"target");
    for (mode, kind) in [("100644", "file"), ("120000", "link")] {
        let trees: Vec<String> =
            names.iter().map(|name| ready.bench.store_tree(&[(mode, name.as_bytes(), &blob)])).collect();
        let said = command(&ready.bench.remote_path(), &["fsck", "--strict"]).output().unwrap();
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        let refused = |tree: &str| {
            let is_name = |line: &str| line.contains("hasDotgit") || line.contains("gitmodulesSymlink");
            said.lines().any(|line| line.contains(tree) && is_name(line))
        };
        let work = ready.path(kind);
        fs::create_dir(&work).unwrap();
        for name in &names {
            match kind {
                "file" => fs::write(work.join(name), b"target").unwrap(),
                _ => symlink("target", work.join(name)).unwrap(),
            }
        }
        let imported = ready.import(&work);
        let taken = git(&ready.own(), &["ls-tree", "-z", "--name-only", imported.tree.as_str()]);
        let taken: Vec<&str> = taken.split_terminator('\0').collect();
        let both = names.iter().zip(&trees);
        let wrong: Vec<_> = both.filter(|(name, tree)| refused(tree) == taken.contains(&name.as_str())).collect();
        assert_eq!(wrong, [], "{kind}: taken though refused, or the other way round");
        let count = trees.iter().filter(|tree| refused(tree)).count();
        assert!(count > 10 && count < trees.len(), "{kind}: {count} of {}", trees.len());
    }
}
