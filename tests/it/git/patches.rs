//! What a diff says is what happened: put on the base by the git program, it gives the tree that was imported.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use countersign::git::{Diff, DiffFile, Hunk, Status};

use super::bench::{Ready, run, write};

/// Names that git quotes, sorts oddly or writes in octal.
const NAMES: [&str; 9] = ["a", "a.b", "a/b", "né.txt", "課題/ファイル", "a\"b", "tab\there", "new\nline", " -x"];

const ENDS: [&str; 4] = ["\n", "\n", "\n", "\r\n"];

fn text(random: &mut fastrand::Rng) -> String {
    let mut text = String::new();
    for _ in 0..random.usize(0..40) {
        let words = ["", "same", "line", "課題", "\tx", "-- a", "++ b", "@@ -1 +1 @@"];
        text += words[random.usize(..words.len())];
        text += ENDS[random.usize(..ENDS.len())];
    }
    if random.u8(..3) == 0 { text + "no end" } else { text }
}

/// Some lines taken out and some put in.
fn edited(random: &mut fastrand::Rng, text: &str) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    for _ in 0..random.usize(1..4) {
        let place = random.usize(0..=lines.len());
        if random.bool() || place == lines.len() {
            lines.insert(place.min(lines.len().saturating_sub(1)), "put in\n");
        } else {
            lines.remove(place);
        }
    }
    lines.concat()
}

fn edit(random: &mut fastrand::Rng, work: &Path, name: &str, content: &str) {
    let at = work.join(name);
    match random.u8(..9) {
        0 => fs::remove_file(&at).unwrap(),
        1 => fs::rename(&at, work.join(format!("moved {}", name.replace('/', "-")))).unwrap(),
        2 => {
            fs::remove_file(&at).unwrap();
            symlink("else\nwhere", &at).unwrap();
        }
        3 => fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).unwrap(),
        4 => {
            write(&work.join(format!("moved/{name}")), edited(random, content).as_bytes());
            fs::remove_file(&at).unwrap();
        }
        5 => write(&at, b""),
        6 => {}
        _ => write(&at, edited(random, content).as_bytes()),
    }
}

/// A name as git quotes it.
fn quoted(side: &str, path: &[u8]) -> String {
    let mut text = format!("\"{side}");
    for byte in path {
        let _ = write!(text, "\\{byte:03o}");
    }
    text + "\""
}

fn hunks(patch: &mut String, hunks: &[Hunk], origins: &[char]) {
    for hunk in hunks {
        let lines: Vec<_> = hunk.lines.iter().filter(|l| origins.contains(&l.origin)).collect();
        let count = |origin: char| lines.iter().filter(|l| l.origin == ' ' || l.origin == origin).count();
        let start = |start: u32, count: usize| if count == 0 { 0 } else { start };
        let (old, new) = (count('-'), count('+'));
        let (from, to) = (start(hunk.old_start, old), start(hunk.new_start, new));
        let whole = origins.len() == 3;
        let (from, to) = if whole { (hunk.old_start, hunk.new_start) } else { (from, to) };
        let _ = writeln!(patch, "@@ -{from},{old} +{to},{new} @@");
        for line in lines {
            let end = if line.text.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            let _ = write!(patch, "{}{}{end}", line.origin, line.text);
        }
    }
}

/// One file as a patch of git's; what changed its kind is taken away and put there anew, as git writes it.
fn patch_of(file: &DiffFile) -> String {
    if file.status == Status::TypeChanged {
        let gone = DiffFile { status: Status::Deleted, mode: 0, ..file.clone() };
        let new = DiffFile { status: Status::Added, old_mode: 0, ..file.clone() };
        return patch_of(&gone) + &patch_of(&new);
    }
    let (old, new) = (quoted("a/", &file.old_path), quoted("b/", &file.path));
    let mut patch = format!("diff --git {old} {new}\n");
    let mut say = |line: String| patch.push_str(&(line + "\n"));
    match file.status {
        Status::Added => say(format!("new file mode {:o}", file.mode)),
        Status::Deleted => say(format!("deleted file mode {:o}", file.old_mode)),
        Status::Renamed | Status::Modified | Status::TypeChanged if file.old_mode != file.mode => {
            say(format!("old mode {:o}\nnew mode {:o}", file.old_mode, file.mode));
        }
        Status::Renamed | Status::Modified | Status::TypeChanged => {}
    }
    if file.status == Status::Renamed {
        say(format!("rename from {}\nrename to {}", quoted("", &file.old_path), quoted("", &file.path)));
    }
    let origins: &[char] = match file.status {
        Status::Added => &['+'],
        Status::Deleted => &['-'],
        Status::Renamed | Status::Modified | Status::TypeChanged => &['+', '-', ' '],
    };
    if !file.hunks.is_empty() {
        let side = |there: bool, name: String| if there { name } else { "/dev/null".to_owned() };
        say(format!("--- {}\n+++ {}", side(file.old_mode != 0, old), side(file.mode != 0, new)));
        hunks(&mut patch, &file.hunks, origins);
    }
    patch
}

fn patch(diff: &Diff) -> String {
    diff.files.iter().map(patch_of).collect()
}

#[test]
fn random_changes_are_imported_as_git_adds_them_and_their_diff_makes_them_again() {
    let (mut statuses, mut lines) = (BTreeSet::new(), 0);
    for seed in 0..120 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut names = NAMES.to_vec();
        random.shuffle(&mut names);
        // Git holds no file and directory of one name.
        names.retain(|name| *name != if seed % 2 == 0 { "a" } else { "a/b" });
        let texts: Vec<(&str, String)> = names.iter().map(|name| (*name, text(&mut random))).collect();
        let files: Vec<(&str, &[u8])> = texts.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
        let ready = Ready::with(&files);
        let work = ready.checkout("work");
        for (name, content) in &texts {
            edit(&mut random, &work, name, content);
        }
        write(&work.join("brand new"), text(&mut random).as_bytes());
        let tree = ready.import(&work).tree;
        assert_eq!(tree.as_str(), ready.as_git_adds(&work), "seed {seed}");

        let diff = ready.repo.diff(&ready.base.tree, &tree, &Default::default()).unwrap();
        let patch = patch(&diff);
        let index = ready.path("index-of-the-patch");
        let at = [("GIT_INDEX_FILE", index.to_str().unwrap())];
        run(&ready.own(), &["read-tree", ready.base.tree.as_str()], &at, b"");
        run(&ready.own(), &["apply", "--cached", "--whitespace=nowarn", "-"], &at, patch.as_bytes());
        let made = run(&ready.own(), &["write-tree"], &at, b"");
        assert_eq!(made.trim(), tree.as_str(), "seed {seed}: {patch}");
        statuses.extend(diff.files.iter().map(|f| format!("{:?}", f.status)));
        lines += diff.added() + diff.removed();
    }
    assert_eq!(statuses.into_iter().collect::<Vec<_>>(), ["Added", "Deleted", "Modified", "Renamed", "TypeChanged"]);
    assert!(lines > 1_000, "{lines}");
}
