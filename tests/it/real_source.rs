//! The whole product on code that others wrote: a published crate, a bug that it shipped, and the test that came with
//! its fix. `docs/REAL_RUN.md` tells the run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use countersign::app::{Delegation, make_repository};
use countersign::cycle::checks::Outcome;
use countersign::cycle::id::{IssueId, RunId};
use countersign::cycle::run::{Delivery, Run};
use countersign::model_server::{ModelServer, Script};
use countersign::service::{Service, Started};
use serde::Deserialize;

use crate::world::base::config;

/// `real_source_material/story.toml`.
#[derive(Debug, Deserialize)]
struct Story {
    #[serde(rename = "crate")]
    name: String,
    base: String,
    fixed: String,
    regression_tests: Vec<String>,
    regression_file: String,
    regression_header: String,
    broken_in_pass_1: BTreeSet<String>,
    title: String,
    body: String,
    done: Vec<String>,
    ends: String,
    passes: usize,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bug_that_a_published_crate_really_had_is_fixed_in_the_second_pass() {
    let story: Story = toml::from_str(include_str!("real_source_material/story.toml")).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let (Some(base), Some(fixed)) = (fetch(&story, &story.base), fetch(&story, &story.fixed)) else {
        let registry = "the registry cannot be reached";
        assert!(std::env::var_os("CI").is_none(), "{registry}");
        eprintln!("SKIPPED: {registry}, so the run on a published crate was not made");
        return;
    };
    let remote = scratch.path().join("crate.git");
    let files = files(&story, &base, &fixed);
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    make_repository(&remote, &files).unwrap();

    let words = Script::parse(include_str!("real_source_material/script.toml")).unwrap();
    let server = ModelServer::start(words).await.unwrap();
    let started = Service::start(&config(scratch.path(), &server.base_url())).await.unwrap();
    let run = delegate(&started, &story, &remote).await;
    let ended =
        tokio::time::timeout(Duration::from_secs(600), started.app.wait_until_over(run)).await.unwrap().unwrap();
    started.stop().await;
    judge(&story, &ended);
}

/// The package's directory in cargo's own cache, fetched like any dependency; `None` without a registry.
fn fetch(story: &Story, version: &str) -> Option<PathBuf> {
    let scratch = tempfile::tempdir().unwrap();
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[dependencies]\n{} = \"={version}\"\n",
        story.name
    );
    std::fs::write(scratch.path().join("Cargo.toml"), manifest).unwrap();
    std::fs::create_dir(scratch.path().join("src")).unwrap();
    std::fs::write(scratch.path().join("src/lib.rs"), "").unwrap();
    let vendored = scratch.keep();
    let done = Command::new("cargo").arg("vendor").arg("--quiet").current_dir(&vendored).output().unwrap();
    let package = vendored.join("vendor").join(&story.name);
    (done.status.success() && package.is_dir()).then_some(package)
}

/// The base commit: the package as it was published, the regression tests of the fix, and how it is checked.
fn files(story: &Story, base: &Path, fixed: &Path) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    collect(base, base, &mut files);
    let library = std::fs::read_to_string(fixed.join("src/lib.rs")).unwrap();
    let tests: String = story.regression_tests.iter().map(|name| function(&library, name)).collect();
    files.push((story.regression_file.clone(), format!("{}{tests}", story.regression_header)));
    let check =
        "strict_baseline = true\n\n[[check]]\nname = \"test\"\ncommand = \"cargo test --offline --no-fail-fast\"\n";
    files.push((".countersign.toml".to_owned(), check.to_owned()));
    files.push((".gitignore".to_owned(), "/target\nCargo.lock\n".to_owned()));
    files
}

fn collect(top: &Path, at: &Path, files: &mut Vec<(String, String)>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(at).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let relative = path.strip_prefix(top).unwrap().to_str().unwrap().to_owned();
        // What cargo adds to a package when it unpacks it is not the package's.
        if relative == ".cargo-checksum.json" || relative.starts_with(".git") || relative == "Cargo.lock" {
            continue;
        }
        if path.is_dir() {
            collect(top, &path, files);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            files.push((relative, text));
        }
    }
}

/// A test function of a library's own test module, with its attribute, moved to the left margin.
fn function(library: &str, name: &str) -> String {
    let head = format!("    fn {name}() {{");
    let lines: Vec<&str> = library.lines().collect();
    let from = lines.iter().position(|l| *l == head).unwrap_or_else(|| panic!("there is no test {name}"));
    let to = from + lines[from..].iter().position(|l| *l == "    }").unwrap();
    let body: String = lines[from..=to].iter().map(|l| format!("{}\n", l.strip_prefix("    ").unwrap_or(l))).collect();
    format!("#[test]\n{body}\n")
}

async fn delegate(started: &Started, story: &Story, remote: &Path) -> RunId {
    let repository = started.app.add_repository(&story.name, &remote.display().to_string()).await.unwrap();
    let delegation = Delegation {
        issue: IssueId::new(),
        repository: repository.id,
        title: story.title.clone(),
        body: story.body.clone(),
        done: story.done.clone(),
        base: "main".to_owned(),
        passes: 3,
        money: "5".parse().unwrap(),
        clock: Duration::from_secs(1800),
    };
    started.app.delegate(delegation).await.unwrap()
}

/// The suite fails on the base, pass 1 breaks what it breaks, pass 2 is green and signed off.
fn judge(story: &Story, run: &Run) {
    let outcome = run.outcome.as_ref().map(ToString::to_string);
    assert_eq!((outcome.as_deref(), run.passes.len()), (Some(story.ends.as_str()), story.passes), "{run:#?}");
    let baseline = &run.baseline.as_ref().unwrap()[0];
    let failing: BTreeSet<String> = story.regression_tests.iter().cloned().collect();
    assert_eq!(tests_of(baseline.attempts[0].failing.as_ref()), failing, "the base fails by the regression tests");
    let outcome_of = |pass: usize| &run.passes[pass].verification.as_ref().unwrap().result.outcomes[0].outcome;
    let Outcome::Regressed { new } = outcome_of(0) else { panic!("pass 1 did not regress: {:?}", outcome_of(0)) };
    assert_eq!(tests_of(Some(new)), story.broken_in_pass_1);
    assert_eq!(*outcome_of(1), Outcome::Passed);
    assert!(matches!(run.delivery, Delivery::Done { .. }));
    let closed: Vec<&str> = run.ledger.all().iter().filter(|o| !o.is_open()).map(|o| o.id.as_str()).collect();
    assert_eq!(closed, ["K1", "F1"]);
}

/// Names without the label of the target that they ran in.
fn tests_of(names: Option<&BTreeSet<String>>) -> BTreeSet<String> {
    let plain = |name: &String| name.split(" (").next().unwrap_or(name).to_owned();
    names.into_iter().flatten().map(plain).collect()
}
