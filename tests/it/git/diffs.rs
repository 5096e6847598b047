//! A diff shows every change as what it is: judged by the git program, and by what a reader must not miss.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use countersign::cycle::id::TreeId;
use countersign::git::{Diff, DiffFile, DiffLimits, Note, Status};

use super::bench::{Bench, Ready, git, write, write_files};

impl Ready {
    fn diff(&self, to: &TreeId) -> Diff {
        self.repo.diff(&self.base.tree, to, &DiffLimits::default()).unwrap()
    }

    /// The diff of what this does to a checkout of the base.
    fn change(&self, change: impl FnOnce(&Path)) -> Diff {
        let work = self.checkout("work");
        change(&work);
        self.diff(&self.import(&work).tree)
    }
}

/// `status old -> new +added -removed`, and the notes.
fn told(file: &DiffFile) -> String {
    let renamed = if file.old_path == file.path { String::new() } else { format!("{} -> ", file.old_path) };
    let notes: String = file.notes.iter().map(|note| format!(" | {note}")).collect();
    let size = match file.is_binary {
        true => format!("binary {} -> {}", file.sizes.0, file.sizes.1),
        false => format!("+{} -{}", file.added, file.removed),
    };
    format!("{:?} {renamed}{} {size}{notes}", file.status, file.path)
}

fn all(diff: &Diff) -> Vec<String> {
    diff.files.iter().map(told).collect()
}

fn lines(count: usize, end: &str) -> String {
    (1..=count).map(|n| format!("line {n} of a text{end}")).collect()
}

#[test]
fn each_kind_of_change_has_its_own_entry_and_nothing_of_another_files() {
    let long = lines(40, "\n");
    let ready = Ready::with(&[
        ("a-picture.png", b"\x89PNG\r\n\x1a\n\0\0before"),
        ("b-moved.txt", long.as_bytes()),
        ("c-gone.txt", b"gone\n"),
        ("d-empty-then-binary", b""),
        ("e-run.sh", b"#!/bin/sh\n"),
        ("f-then-link", b"text\n"),
        ("g-end.txt", b"no end"),
        ("h-same.txt", b"same\n"),
    ]);
    let diff = ready.change(|at| {
        write(&at.join("a-picture.png"), b"\x89PNG\r\n\x1a\n\0\0and after");
        fs::remove_file(at.join("b-moved.txt")).unwrap();
        let edited = long.replace("line 3 of", "line three of").replace("line 30 of", "line thirty of");
        write(&at.join("moved/b.txt"), edited.as_bytes());
        fs::remove_file(at.join("c-gone.txt")).unwrap();
        write(&at.join("d-empty-then-binary"), &[0, 159, 146, 150, 255, 0]);
        fs::set_permissions(at.join("e-run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(at.join("f-then-link")).unwrap();
        symlink("h-same.txt", at.join("f-then-link")).unwrap();
        write(&at.join("g-end.txt"), b"no end\n");
        write(&at.join("i-new-and-empty"), b"");
    });
    assert_eq!(
        all(&diff),
        [
            "Modified a-picture.png binary 16 -> 19",
            "Deleted c-gone.txt +0 -1",
            "Modified d-empty-then-binary binary 0 -> 6",
            "Modified e-run.sh +0 -0",
            "TypeChanged f-then-link +1 -1",
            "Modified g-end.txt +1 -1",
            "Added i-new-and-empty +0 -0",
            "Renamed b-moved.txt -> moved/b.txt +2 -2",
        ]
    );
    let text = diff.text(100_000).text;
    assert!(text.contains("diff --git a/e-run.sh b/e-run.sh\nold mode 100644\nnew mode 100755\n"), "{text}");
    assert!(text.contains("-no end\n\\ No newline at end of file\n+no end\n"), "{text}");
    assert!(text.contains("rename from b-moved.txt\nrename to moved/b.txt\n"), "{text}");
    assert_eq!(text.matches("PNG").count(), 0, "{text}");
    assert_eq!((diff.files_changed(), diff.added(), diff.removed()), (8, 4, 5));
}

#[test]
fn an_edit_of_one_line_among_windows_line_ends_is_a_change_of_one_line() {
    let windows = lines(100, "\r\n");
    for attributes in [&b"# none\n"[..], b"* text=auto\n", b"* text eol=lf\n"] {
        let bench = Bench::with(&[(".gitattributes", attributes)]);
        // Stored as it is, whatever the attributes would have made of it.
        let (blob, rules) = (bench.store("blob", windows.as_bytes()), bench.store("blob", attributes));
        let tree = bench.store_tree(&[("100644", b".gitattributes", &rules), ("100644", b"notes.txt", &blob)]);
        bench.commit_tree("main", &tree);
        let ready = bench.ready();
        let edit = windows.replace("line 7 of a text", "line seven");
        let diff = ready.change(|at| write(&at.join("notes.txt"), edit.as_bytes()));
        assert_eq!(all(&diff), ["Modified notes.txt +1 -1"]);
        assert!(diff.text(10_000).text.contains("+line seven⟨CR⟩\n"), "{}", diff.text(10_000).text);
    }
}

#[test]
fn line_ends_that_changed_are_counted_and_do_not_bury_the_other_changes() {
    let windows = lines(100, "\r\n");
    let ready = Ready::with(&[("notes.txt", windows.as_bytes()), ("short.txt", b"one\r\ntwo\r\n")]);
    let unix = windows.replace("\r\n", "\n");
    let only_ends = ready.checkout("ends");
    write(&only_ends.join("notes.txt"), unix.as_bytes());
    write(&only_ends.join("short.txt"), b"one\ntwo\n");
    let tree = ready.import(&only_ends).tree;
    assert_ne!(tree, ready.base.tree, "trees that differ in line ends differ");
    assert_eq!(
        all(&ready.diff(&tree)),
        [
            "Modified notes.txt +100 -100 | line endings changed on 100 lines",
            "Modified short.txt +2 -2 | line endings changed on 2 lines",
        ]
    );

    let diff =
        ready.change(|at| write(&at.join("notes.txt"), unix.replace("line 7 of a text", "line seven").as_bytes()));
    assert_eq!(all(&diff), ["Modified notes.txt +100 -100 | line endings changed on 99 lines"]);
    let text = diff.text(100_000).text;
    let changed: Vec<&str> =
        text.lines().filter(|l| l.starts_with(['+', '-']) && !l.starts_with("+++") && !l.starts_with("---")).collect();
    assert_eq!(changed, ["-line 7 of a text", "+line seven"]);
}

#[test]
fn pointers_of_large_file_storage_stay_and_their_replacement_is_told() {
    let pointer = |n: u8| {
        format!(
            "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n",
            format!("{n:02x}").repeat(32)
        )
    };
    let (kept, replaced) = (pointer(1), pointer(2));
    let bench = Bench::with(&[("x", b"")]);
    let rules = bench.store("blob", b"*.bin filter=lfs diff=lfs merge=lfs -text\n");
    let (one, two) = (bench.store("blob", kept.as_bytes()), bench.store("blob", replaced.as_bytes()));
    let entries: [(&str, &[u8], &str); 3] =
        [("100644", b".gitattributes", &rules), ("100644", b"kept.bin", &one), ("100644", b"replaced.bin", &two)];
    let tree = bench.store_tree(&entries);
    bench.commit_tree("main", &tree);
    let ready = bench.ready();
    let diff = ready.change(|at| {
        assert_eq!(fs::read(at.join("kept.bin")).unwrap(), kept.as_bytes());
        write(&at.join("replaced.bin"), &[7, 0, 7]);
        write(&at.join("notes.txt"), b"beside it\n");
    });
    assert_eq!(
        all(&diff),
        [
            "Added notes.txt +1 -0",
            "Modified replaced.bin binary 130 -> 3 | a pointer of Git LFS was replaced by content, or content by a pointer",
        ]
    );
    assert!(diff.text(10_000).text.contains("note: a pointer of Git LFS was replaced"));
}

#[test]
fn names_of_every_kind_stand_once_can_be_cited_and_stay_what_they_are() {
    let names: [&[u8]; 7] = [
        "né.txt".as_bytes(),
        "課題/ファイル.md".as_bytes(),
        b"a\"b.txt",
        b"line\nbreak",
        b"not\xffutf8",
        b" -x",
        b"a\\b",
    ];
    let ready = Ready::with(&[("x", b"")]);
    let work = ready.checkout("work");
    for name in names {
        write(&super::bench::bytes_path(&work, name), b"content\n");
    }
    let tree = ready.import(&work).tree;
    let diff = ready.diff(&tree);
    let mut shown: Vec<String> = diff.paths().collect();
    assert_eq!(shown.len(), names.len());
    shown.sort_unstable();
    shown.dedup();
    assert_eq!(shown.len(), names.len(), "no two look alike: {shown:?}");
    assert!(shown.iter().all(|s| !s.contains('\n')), "{shown:?}");
    for path in shown {
        assert!(diff.touches(path.as_bytes(), 1..=1), "{path:?} can be cited as it is shown");
    }
    let out = ready.path("out");
    ready.repo.checkout(&tree, &out).unwrap();
    for name in names {
        assert_eq!(fs::read(super::bench::bytes_path(&out, name)).unwrap(), b"content\n");
    }
}

#[test]
fn names_that_differ_in_case_or_composition_are_different_files() {
    let ready =
        Ready::with(&[("README", b"one\n"), ("readme", b"two\n"), ("é", b"composed\n"), ("e\u{301}", b"apart\n")]);
    let diff = ready.change(|at| {
        write(&at.join("readme"), b"changed\n");
        write(&at.join("e\u{301}"), b"changed\n");
    });
    assert_eq!(diff.files.len(), 2);
    assert!(all(&diff).contains(&"Modified readme +1 -1".to_owned()), "{:?}", all(&diff));
}

#[test]
fn a_lock_file_does_not_keep_the_reviewer_from_the_lines_that_matter() {
    let lock: String = (0..10_000).map(|n| format!("package {n:05} has this checksum and no other\n")).collect();
    assert!(lock.len() > 390_000);
    let ready = Ready::with(&[("z.rs", b"fn z() -> u8 { 1 }\n")]);
    let diff = ready.change(|at| {
        write(&at.join("a.lock"), lock.as_bytes());
        write(&at.join("z.rs"), b"fn z() -> u8 { 2 }\n");
    });
    let text = diff.text(60_000);
    assert!(text.text.len() < 61_000);
    assert!(text.text.contains("+fn z() -> u8 { 2 }"), "{}", text.text);
    assert!(
        text.text.contains("diff --git a/a.lock b/a.lock\nnew file mode 100644\n10000 lines added"),
        "{}",
        text.text
    );
    assert_eq!(text.left_out, ["a.lock"], "what was left out is named");
    let whole = diff.text(1_000_000);
    assert_eq!(whole.left_out, Vec::<String>::new());
    assert_ne!(whole.digest, text.digest, "a cut view proves nothing of the whole one");
}

#[test]
fn nothing_that_a_tree_says_of_itself_hides_a_change() {
    let blank = "\n".repeat(10_000);
    let hidden = format!("{blank}backdoor();\n");
    let attributes = b"*.rs -diff linguist-generated\n*.txt binary diff=none\n";
    let ready = Ready::with(&[("a.rs", b"fn a() {}\n"), ("b.txt", b"text\n"), ("c.sh", b"#!/bin/sh\n")]);
    let diff = ready.change(|at| {
        write(&at.join(".gitattributes"), attributes);
        write(&at.join("a.rs"), b"fn a() { evil() }\n");
        write(&at.join("b.txt"), "te\u{202e}xt\u{200b}\n".as_bytes());
        write(&at.join("c.sh"), hidden.as_bytes());
        write(&at.join("nul.rs"), b"fn n() {}\n\0\n");
    });
    assert_eq!(
        all(&diff),
        [
            "Added .gitattributes +2 -0",
            "Modified a.rs +1 -1",
            "Modified b.txt +1 -1 | 1 added line holds characters that cannot be seen",
            "Modified c.sh +10001 -1",
            "Added nul.rs +2 -0 | 1 added line holds characters that cannot be seen",
        ]
    );
    let text = diff.text(100_000).text;
    for shown in ["+fn a() { evil() }", "+backdoor();", "more blank lines⟩", "⟨U+202E⟩", "⟨U+200B⟩"] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    assert!(!text.contains('\u{202e}') && !text.contains('\0'), "{text}");
}

#[test]
fn a_pointer_to_another_repository_is_shown_only_if_it_changed() {
    let bench = Bench::with(&[("a.txt", b"one\n")]);
    let file = bench.store("blob", b"one\n");
    let commit = "1234567890123456789012345678901234567890";
    let tree = bench.store_tree(&[("100644", b"a.txt", &file), ("160000", b"sub", commit)]);
    bench.commit_tree("main", &tree);
    let ready = bench.ready();
    let diff = ready.change(|at| write(&at.join("a.txt"), b"two\n"));
    assert_eq!(all(&diff), ["Modified a.txt +1 -1"]);
    let gone = ready.checkout("gone");
    fs::remove_dir(gone.join("sub")).unwrap();
    let diff = ready.diff(&ready.import(&gone).tree);
    assert_eq!(diff.files.len(), 1);
    assert!(diff.files[0].notes.contains(&Note::Submodule), "{:?}", all(&diff));
}

#[test]
fn what_is_too_large_is_said_and_never_counts_as_unchanged() {
    let limits = DiffLimits { lines_per_file: 10, text: 10_000, total: 20_000 };
    let ready = Ready::with(&[("cut.txt", lines(50, "\n").as_bytes()), ("large.txt", b"small\n")]);
    let work = ready.checkout("work");
    write(&work.join("cut.txt"), lines(50, " changed\n").as_bytes());
    write(&work.join("large.txt"), lines(2_000, "\n").as_bytes());
    let diff = ready.repo.diff(&ready.base.tree, &ready.import(&work).tree, &limits).unwrap();
    assert_eq!(
        all(&diff),
        [
            "Modified cut.txt +50 -50 | not all changed lines are shown",
            "Modified large.txt +0 -0 | too large to be compared line by line",
        ]
    );
    for path in ["cut.txt", "large.txt"] {
        assert!(diff.touches(path.as_bytes(), 45..=45), "{path}: it may have been changed there");
    }
    assert_eq!(diff.text(100_000).left_out, ["cut.txt", "large.txt"]);
}

/// What git counts in each file, renames apart: `(added, removed)`, or `None` for a binary.
fn numstat(ready: &Ready, from: &str, to: &str) -> BTreeMap<String, Option<(u32, u32)>> {
    let said = git(&ready.own(), &["diff-tree", "-r", "--no-renames", "--numstat", "-z", from, to]);
    let one = |line: &str| {
        let parts: Vec<&str> = line.splitn(3, '\t').collect();
        let counts = parts[0].parse().ok().zip(parts[1].parse().ok());
        (parts[2].to_owned(), counts)
    };
    said.split_terminator('\0').map(one).collect()
}

/// Random edits of a random tree: the paths and counts are git's own.
#[test]
fn counts_and_paths_of_random_changes_are_those_of_git() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let texts: Vec<(String, Vec<u8>)> = (0..random.usize(1..12)).map(|n| (name(n), text(&mut random))).collect();
        let files: Vec<(&str, &[u8])> = texts.iter().map(|(name, text)| (name.as_str(), &text[..])).collect();
        let ready = Ready::with(&files);
        let work = ready.checkout("work");
        for (name, content) in &texts {
            edit(&mut random, &work, name, content);
        }
        let extra = text(&mut random);
        write_files(&work, &[("brand-new", &extra)]);
        let tree = ready.import(&work).tree;
        let truth = numstat(&ready, ready.base.tree.as_str(), tree.as_str());
        let diff = ready.diff(&tree);
        let mut paths: Vec<String> = diff.paths().collect();
        paths.sort_unstable();
        // A file that moved away and left something else in its place is both.
        paths.dedup();
        let moved_away: Vec<_> = diff.files.iter().filter(|f| f.old_path != f.path).map(|f| &f.old_path).collect();
        assert_eq!(paths, truth.keys().cloned().collect::<Vec<_>>(), "seed {seed}: {:?}", all(&diff));
        for file in &diff.files {
            *seen.entry(format!("{:?}", file.status)).or_default() += 1;
            if file.status != Status::Renamed && !moved_away.contains(&&file.path) {
                let counts = (!file.is_binary).then_some((file.added, file.removed));
                assert_eq!(counts, truth[&file.path.to_string()], "seed {seed}: {}", told(file));
            }
        }
    }
    for status in ["Added", "Deleted", "Modified", "Renamed", "TypeChanged"] {
        assert!(seen.get(status).is_some_and(|n| *n >= 10), "{status} was hardly tried: {seen:?}");
    }
}

fn name(n: usize) -> String {
    format!("{}file-{n}", ["", "a/", "a/b/"][n % 3])
}

fn text(random: &mut fastrand::Rng) -> Vec<u8> {
    let lines = random.usize(0..60);
    let mut text: Vec<u8> = Vec::new();
    for _ in 0..lines {
        text.extend(format!("{} {}\n", random.u8(..6), random.u8(..4)).bytes());
    }
    if random.u8(..4) == 0 {
        text.extend(b"no end");
    }
    text
}

fn edit(random: &mut fastrand::Rng, work: &Path, name: &str, content: &[u8]) {
    let at = work.join(name);
    match random.u8(..8) {
        0 => fs::remove_file(&at).unwrap(),
        1 => fs::rename(&at, work.join(format!("moved-{}", name.replace('/', "-")))).unwrap(),
        2 => {
            fs::remove_file(&at).unwrap();
            symlink("elsewhere", &at).unwrap();
        }
        3 => fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).unwrap(),
        4 => {}
        _ => {
            let mut lines: Vec<&[u8]> = content.split_inclusive(|b| *b == b'\n').collect();
            for _ in 0..random.usize(1..5) {
                let place = random.usize(0..=lines.len());
                match random.bool() {
                    true => lines.insert(place, b"put in\n"),
                    false if place < lines.len() => drop(lines.remove(place)),
                    false => {}
                }
            }
            write(&at, &lines.concat());
        }
    }
}
