//! The real program, started as a process: what it refuses, and that it says so and ends.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Far more than a refusal takes; a service that starts after all would run on for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the program on a data directory of its own until it ends by itself; it must.
fn refusing(scratch: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args(arguments)
        .current_dir(scratch)
        .env("COUNTERSIGN_DATA", scratch.join("data"))
        .env("COUNTERSIGN_LISTEN", "127.0.0.1:0")
        .envs(environment.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{arguments:?} goes on: {:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// There is no way to run an agent outside of a sandbox: not by a flag, not by a setting, not by default.
#[test]
fn without_a_sandbox_the_program_refuses_to_serve_and_says_what_to_install() {
    for arguments in [&["serve"][..], &["doctor"], &["demo", "--exit"]] {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir(scratch.path().join("empty")).unwrap();
        let path = scratch.path().join("empty").display().to_string();
        let refused = refusing(scratch.path(), arguments, &[("PATH", &path), ("TMPDIR", &path)]);
        assert!(!refused.status.success(), "{arguments:?}: {}", text(&refused));
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0, "{arguments:?} left something behind");
        assert!(text(&refused).contains("apt install bubblewrap"), "{arguments:?}: {}", text(&refused));
        assert!(!text(&refused).contains("panicked"), "{}", text(&refused));
    }
}

#[test]
fn settings_that_cannot_be_meant_are_refused_by_name() {
    for (settings, expected) in [
        ("lisden = \"127.0.0.1:0\"\n", "lisden"),
        ("[sandbox]\nenabled = false\n", "enabled"),
        ("[sandbox]\nmemory_mib = -1\n", "memory_mib"),
        ("[agents.reviewer]\nprovider = \"nobody\"\nmodel = \"m\"\n", "agents.reviewer names the provider \"nobody\""),
        ("[providers.antropic]\n", "known are: anthropic"),
        ("data = [\n", "settings.toml"),
    ] {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::write(scratch.path().join("settings.toml"), settings).unwrap();
        let refused = refusing(scratch.path(), &["--config", "settings.toml", "serve"], &[]);
        assert!(!refused.status.success(), "{settings}: {}", text(&refused));
        assert!(text(&refused).contains(expected), "{settings}: {}", text(&refused));
    }
}

/// Until people sign in, nobody but this machine may ask for a page.
#[test]
fn an_address_that_others_could_reach_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let refused = refusing(scratch.path(), &["serve"], &[("COUNTERSIGN_LISTEN", "0.0.0.0:0")]);
    assert!(!refused.status.success(), "{}", text(&refused));
    assert!(text(&refused).contains("loopback") || text(&refused).contains("127.0.0.1"), "{}", text(&refused));
}

#[test]
fn a_repository_that_cannot_be_worked_with_is_not_added() {
    let scratch = tempfile::tempdir().unwrap();
    let nowhere = scratch.path().join("nowhere").display().to_string();
    let bare = scratch.path().join("bare.git");
    countersign::app::make_repository(&bare, &[("a.txt", "a")]).unwrap();
    let bare = bare.display().to_string();
    for (name, remote, expected) in [
        ("notes", nowhere.as_str(), "cannot be reached"),
        ("notes", "/etc", "cannot be reached"),
        ("notes", "relative/path", "must be absolute"),
        ("not\u{202e}es", &bare, "none that cannot be seen"),
        ("not\u{1b}[31mes", &bare, "none that cannot be seen"),
    ] {
        let refused = refusing(scratch.path(), &["repository", "add", name, remote], &[]);
        assert!(
            !refused.status.success() && text(&refused).contains(expected),
            "{name:?} {remote}: {}",
            text(&refused)
        );
    }
    let added = refusing(scratch.path(), &["repository", "add", "notes", &bare], &[]);
    assert!(added.status.success(), "{}", text(&added));
}

/// The data directory that nobody named is under the working directory, and every command means the same one.
#[test]
fn a_relative_data_directory_serves_every_command() {
    let scratch = tempfile::tempdir().unwrap();
    let relative = [("COUNTERSIGN_DATA", "kept/here")];
    let examined = refusing(scratch.path(), &["doctor"], &relative);
    assert!(examined.status.success(), "{}", text(&examined));
    let bare = scratch.path().join("bare.git");
    countersign::app::make_repository(&bare, &[("a.txt", "a")]).unwrap();
    let added = refusing(scratch.path(), &["repository", "add", "notes", &bare.display().to_string()], &relative);
    let place = scratch.path().join("kept/here").display().to_string();
    assert!(text(&added).contains(&place), "{}", text(&added));
    let mode = std::fs::metadata(scratch.path().join("kept/here")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "others on this machine can read the repositories");
    let listed = refusing(scratch.path(), &["repository", "list"], &relative);
    assert!(text(&listed).contains("notes"), "{}", text(&listed));
}

#[test]
fn a_server_that_does_not_answer_is_named_without_its_password() {
    let scratch = tempfile::tempdir().unwrap();
    for (url, expected) in [
        ("postgres://someone:hunter2@127.0.0.1:1/name", "the database at 127.0.0.1:1 could not be opened"),
        ("postgres://someone:hunter2@127.0.0.1:nonsense/name", "it looks like postgres://"),
        ("mysql://someone:hunter2@127.0.0.1/name", "COUNTERSIGN_DATABASE must be the address of a PostgreSQL server"),
    ] {
        let refused = refusing(scratch.path(), &["serve"], &[("COUNTERSIGN_DATABASE", url)]);
        let said = text(&refused);
        assert!(!refused.status.success() && said.contains(expected), "{said}");
        assert!(!said.contains("hunter2") && said.lines().count() == 1, "{said}");
    }
}

/// What a library says twice is printed once.
#[test]
fn a_database_that_is_none_is_named_with_its_cause() {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::create_dir(scratch.path().join("data")).unwrap();
    std::fs::write(scratch.path().join("data/countersign.db"), [7; 5000]).unwrap();
    let refused = refusing(scratch.path(), &["serve"], &[]);
    let said = text(&refused);
    assert!(said.contains("data/countersign.db could not be opened"), "{said}");
    assert_eq!(said.matches("file is not a database").count(), 1, "{said}");
}
