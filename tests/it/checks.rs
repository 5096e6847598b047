//! Checks in real sandboxes: what they do to a run, whatever the code under test tries.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use countersign::checks::cited::{Checkout, Why};
use countersign::checks::{self, Cited, Detected, Files, KeepLog, Lab};
use countersign::cycle::checks::{
    Attempt, AttemptEnd, Cause, Check, CheckRun, Kind, Outcome, Runs, Source, StrictBaseline, Verification,
    baseline_problems, judge,
};
use countersign::cycle::id::{RunId, TreeId};
use countersign::sandbox::{Limits, Namespace, NamespaceSettings};
use sha2::{Digest, Sha256};

/// A machine with sandboxes and a place for trees.
struct Bench {
    home: tempfile::TempDir,
    lab: Lab,
    logs: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    trees: AtomicUsize,
}

/// The files of a tree; a name that ends with `!` is executable.
type Tree<'a> = &'a [(&'a str, &'a str)];

impl Bench {
    fn new() -> Self {
        Self::with_clock(|| Duration::from_secs(600))
    }

    fn with_clock(remaining: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let settings = NamespaceSettings::new(home.path().join("sandbox"));
        let backend = Namespace::new(&settings).expect("this machine has bwrap");
        let lab = Lab {
            backend: Arc::new(backend),
            run: RunId::new(),
            limits: Limits::default(),
            remaining: Arc::new(remaining),
            fingerprint: Arc::new(fingerprint),
        };
        Self { home, lab, logs: Arc::default(), trees: AtomicUsize::new(0) }
    }

    /// A checkout of these files, with the list of them beside it.
    fn tree(&self, files: Tree<'_>) -> PathBuf {
        let number = self.trees.fetch_add(1, Ordering::Relaxed);
        checkout(&self.home.path().join(format!("tree{number}")), files)
    }

    async fn run(&self, files: Tree<'_>, checks: &[Check]) -> Vec<CheckRun> {
        self.run_on(&self.tree(files), checks).await
    }

    async fn run_on(&self, tree: &Path, checks: &[Check]) -> Vec<CheckRun> {
        let logs = Arc::clone(&self.logs);
        let keep: KeepLog = Arc::new(move |of, bytes| {
            let key = format!("{}/{}", of.check, of.attempt);
            logs.lock().expect("no test panics with it").insert(key.clone(), bytes.to_vec());
            Some(key)
        });
        checks::run(&self.lab, tree, checks, &keep).await
    }

    /// Runs one required check and gives its only attempt, or its last.
    async fn attempt(&self, files: Tree<'_>, command: &str) -> Attempt {
        let mut runs = self.run(files, &[check("test", command)]).await;
        runs.pop().and_then(|mut run| run.attempts.pop()).expect("it was run")
    }

    fn log(&self, key: &str) -> Vec<u8> {
        self.logs.lock().expect("no test panics with it").get(key).cloned().unwrap_or_default()
    }
}

fn checkout(tree: &Path, files: Tree<'_>) -> PathBuf {
    for (name, text) in files {
        let path = tree.join(name.trim_end_matches('!'));
        fs::create_dir_all(path.parent().expect("it lies in the tree")).expect("a directory");
        fs::write(&path, text).expect("a file");
        if name.ends_with('!') {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
    }
    fs::create_dir_all(tree).expect("a directory");
    let names: Vec<&str> = files.iter().map(|(name, _)| name.trim_end_matches('!')).collect();
    fs::write(tree.with_extension("list"), names.join("\n")).expect("a list");
    tree.to_owned()
}

/// Over the files that the checkout began with, as a git tree would be.
fn fingerprint(tree: &Path) -> Option<TreeId> {
    let names = fs::read_to_string(tree.with_extension("list")).ok()?;
    let mut hash = Sha256::new();
    for name in names.lines() {
        hash.update(name);
        hash.update(fs::read(tree.join(name)).unwrap_or_else(|_| b"gone".to_vec()));
    }
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    TreeId::try_from(hex[..40].to_owned()).ok()
}

fn check(name: &str, command: &str) -> Check {
    Check {
        name: name.to_owned(),
        kind: Kind::Test,
        command: command.to_owned(),
        directory: String::new(),
        time_limit_s: 60,
        required: true,
        source: Source::File,
    }
}

fn ends(run: &CheckRun) -> Vec<AttemptEnd> {
    run.attempts.iter().map(|attempt| attempt.end.clone()).collect()
}

fn new_failures(outcome: &Outcome) -> Vec<&str> {
    match outcome {
        Outcome::Regressed { new } => new.iter().map(String::as_str).collect(),
        Outcome::Passed | Outcome::PreExisting | Outcome::Flaky | Outcome::CouldNotRun { .. } => {
            panic!("it has not regressed: {outcome:?}")
        }
    }
}

fn detected(files: Tree<'_>) -> Detected {
    let paths: Vec<Vec<u8>> = files.iter().map(|(name, _)| name.trim_end_matches('!').as_bytes().to_vec()).collect();
    let read = |path: &[u8], max: usize| {
        let (_, text) = files.iter().find(|(name, _)| name.trim_end_matches('!').as_bytes() == path)?;
        Some(text.as_bytes()[..text.len().min(max)].to_vec())
    };
    checks::detect(&Files { paths: &paths, read: &read }).expect("the files are right")
}

const CARGO: &str = "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
const ONE_RED: &str = "pub fn sum(a: i32, b: i32) -> i32 { a + b }\npub fn twice(a: i32) -> i32 { a + a }\n\
    #[cfg(test)] mod tests { use super::*;\n\
    #[test] fn sums() { assert_eq!(sum(1, 2), 3) }\n\
    #[test] fn doubles() { assert_eq!(twice(2), 5) } }\n";

#[tokio::test]
async fn failures_that_were_there_before_are_told_from_new_ones() {
    let bench = Bench::new();
    let base = [("Cargo.toml", CARGO), ("src/lib.rs", ONE_RED)];
    let checks = detected(&base).checks;
    assert_eq!(checks.iter().map(|check| check.name.as_str()).collect::<Vec<_>>(), ["cargo test"]);

    let baseline = bench.run(&base, &checks).await;
    assert_eq!(ends(&baseline[0]), [AttemptEnd::Exit(101), AttemptEnd::Exit(101)]);
    assert_eq!(baseline_problems(&checks, &baseline), []);

    let unrelated = [base[0], base[1], ("README.md", "a good change")];
    let now = bench.run(&unrelated, &checks).await;
    assert_eq!(judge(true, Some(&baseline[0]), &now[0]), Outcome::PreExisting);

    let broken = ONE_RED.replace("a + b", "a - b");
    let now = bench.run(&[base[0], ("src/lib.rs", &broken)], &checks).await;
    assert_eq!(new_failures(&judge(true, Some(&baseline[0]), &now[0])), ["tests::sums (--lib)"]);

    let uncompilable = ONE_RED.replace("a + b", "a +");
    let now = bench.run(&[base[0], ("src/lib.rs", &uncompilable)], &checks).await;
    assert!(new_failures(&judge(true, Some(&baseline[0]), &now[0])).is_empty(), "no names, and regressed all the same");

    let fixed = ONE_RED.replace(", 5)", ", 4)");
    let now = bench.run(&[base[0], ("src/lib.rs", &fixed)], &checks).await;
    assert_eq!(judge(true, Some(&baseline[0]), &now[0]), Outcome::Passed);
    assert_eq!(now[0].attempts.len(), 1, "what passes is not run again");
}

#[tokio::test]
async fn a_repository_without_commands_has_nothing_to_run_which_is_neither_pass_nor_failure() {
    let bench = Bench::new();
    let files = [("README.md", "hello"), ("notes.txt", "")];
    let checks = detected(&files).checks;
    let runs = bench.run(&files, &checks).await;
    assert!(runs.is_empty());
    let tree = fingerprint(&bench.tree(&files)).expect("a readable tree");
    let verified = Verification::judge(tree, StrictBaseline::Off, &checks, Runs { baseline: &runs, now: &runs });
    assert!(verified.passes() && !verified.any_required_ran());
}

#[tokio::test]
async fn a_check_that_waits_for_input_ends_by_itself() {
    let bench = Bench::new();
    let asking = [
        ("read", "read answer"),
        ("tty", "cat /dev/tty"),
        ("cat", "cat > copy && test -s copy"),
        ("prompt", "git -c protocol.version=0 fetch https://127.0.0.1:9/private.git"),
    ];
    let checks = asking.map(|(name, command)| Check { required: false, ..check(name, command) });
    for run in bench.run(&[], &checks).await {
        assert!(
            matches!(run.attempts[0].end, AttemptEnd::Exit(code) if code != 0),
            "{}: {:?}",
            run.check,
            run.attempts[0]
        );
    }
    let paged = bench.attempt(&[], "seq 100000 | ${PAGER:-less}").await;
    assert!(paged.passed() && paged.tail.ends_with("100000\n"));
}

#[tokio::test]
async fn a_hanging_check_fails_at_its_own_limit_and_the_others_still_run() {
    let bench = Bench::new();
    let hanging = Check { time_limit_s: 1, ..check("hangs", "echo begun; trap '' TERM; sleep 600") };
    let runs = bench.run(&[], &[hanging, check("after", "true")]).await;
    assert_eq!(ends(&runs[0]), [AttemptEnd::TimedOut, AttemptEnd::TimedOut]);
    assert_eq!(runs[0].attempts[0].tail, "begun\n");
    assert_eq!(ends(&runs[1]), [AttemptEnd::Exit(0)]);
    let passed =
        CheckRun { check: "hangs".to_owned(), attempts: runs[1].attempts.clone(), changed_tracked_files: false };
    assert!(new_failures(&judge(true, Some(&passed), &runs[0])).is_empty());
}

#[tokio::test]
async fn a_check_that_the_runs_clock_cuts_could_not_run() {
    let asked = AtomicUsize::new(0);
    let bench = Bench::with_clock(move || match asked.fetch_add(1, Ordering::Relaxed) {
        0 => Duration::from_secs(600),
        1 => Duration::from_secs(1),
        _ => Duration::ZERO,
    });
    let checks = [check("first", "true"), check("second", "sleep 600"), check("third", "true")];
    let runs = bench.run(&[], &checks).await;
    assert_eq!(ends(&runs[0]), [AttemptEnd::Exit(0)]);
    assert_eq!(ends(&runs[1]), [AttemptEnd::CutByClock]);
    assert_eq!(ends(&runs[2]), [AttemptEnd::CutByClock]);
    assert_eq!(judge(true, None, &runs[1]), Outcome::CouldNotRun { cause: Cause::Clock });
}

#[tokio::test]
async fn output_that_is_not_text_keeps_its_exit_status_and_becomes_text() {
    let bench = Bench::new();
    let binary = "printf '\\377\\376 \\0 '; head -c 1000000 /dev/urandom; printf '\\033]0;never ends'; exit 3";
    let attempt = bench.attempt(&[], binary).await;
    assert_eq!(attempt.end, AttemptEnd::Exit(3));
    assert!(attempt.tail.len() <= 64 * 1024 && attempt.tail.ends_with("0;never ends"), "{}", attempt.tail.len());
    assert!(!attempt.tail.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
    let log = bench.log("test/2");
    assert_eq!(attempt.log.as_deref(), Some("test/2"));
    assert!(
        log.starts_with(b"\xff\xfe \0 ") && log.ends_with(b"\x1b]0;never ends"),
        "the log has the bytes as they came"
    );
}

#[tokio::test]
async fn a_flood_is_bounded_with_head_and_tail_kept() {
    let bench = Bench::new();
    let flood = Check { time_limit_s: 2, required: false, ..check("flood", "echo first; yes") };
    let line =
        Check { required: false, ..check("line", "head -c 300000000 /dev/zero | tr '\\0' x; echo last; exit 5") };
    let runs = bench.run(&[], &[flood, line]).await;
    assert_eq!(ends(&runs[0]), [AttemptEnd::TimedOut]);
    assert_eq!(ends(&runs[1]), [AttemptEnd::Exit(5)]);
    let log = bench.log("line/1");
    assert!(log.len() <= (16 << 20) + 100 && log.ends_with(b"xlast\n"));
    let text = String::from_utf8_lossy(&log);
    assert!(text.contains(&format!("[… {} bytes left out …]", 300_000_005 - (16 << 20))));
    for run in &runs {
        assert!(run.attempts[0].tail.len() <= 64 * 1024 && run.attempts[0].failing.is_none());
    }
    assert!(bench.log("flood/1").starts_with(b"first\ny\n"));
}

#[tokio::test]
async fn what_a_check_leaves_running_is_gone_before_the_next_one() {
    let bench = Bench::new();
    let bind = "import socket\ns = socket.socket()\ns.bind(('127.0.0.1', 3001))\ns.listen()\n";
    let server = format!("{bind}import time\nopen('up', 'w').close()\ntime.sleep(600)\n");
    let files = [("server.py", server.as_str()), ("bind.py", bind)];
    let up = "until test -e up; do sleep 0.01; done; rm up";
    let checks = [
        check("quiet", &format!("setsid python3 server.py > /dev/null 2>&1 & {up}")),
        check("binds", "python3 bind.py"),
        // This one keeps the pipe open as well.
        check("loud", &format!("setsid python3 server.py & {up}")),
        check("binds again", "python3 bind.py"),
    ];
    for run in bench.run(&files, &checks).await {
        assert_eq!(ends(&run), [AttemptEnd::Exit(0)], "{}: {:?}", run.check, run.attempts);
    }
}

#[tokio::test]
async fn a_detached_daemon_cannot_change_the_tree_under_a_later_check() {
    let bench = Bench::new();
    let files =
        [("data", "as committed\n"), ("daemon.sh", "n=0; while :; do n=$((n+1)); echo $n > data; sleep 0.01; done")];
    let checks = [
        check("starts it", "setsid sh daemon.sh > /dev/null 2>&1 & until grep -q '^[2-9]' data; do sleep 0.01; done"),
        check("looks twice", "before=$(cat data); sleep 0.3; test \"$before\" = \"$(cat data)\""),
    ];
    let runs = bench.run(&files, &checks).await;
    assert!(runs[0].changed_tracked_files, "the first check changed a tracked file, which is reported");
    assert_eq!(ends(&runs[1]), [AttemptEnd::Exit(0)]);
    assert!(!runs[1].changed_tracked_files, "the hash is stable once the check's processes are dead");
}

#[tokio::test]
async fn nothing_of_one_verification_is_seen_by_the_next() {
    let bench = Bench::new();
    let leave = check("leaves", "echo 'exit 0' > ~/.profile; echo shim > /tmp/cargo; (sleep 600 &)");
    let runs = bench.run(&[], &[leave]).await;
    assert_eq!(ends(&runs[0]), [AttemptEnd::Exit(0)]);
    let attempt =
        bench.attempt(&[], "test ! -e ~/.profile && test ! -e /tmp/cargo && ! grep -q sleep /proc/[0-9]*/comm").await;
    assert!(attempt.passed(), "{attempt:?}");
}

#[tokio::test]
async fn a_red_check_stays_red_whatever_it_prints_kills_or_writes() {
    let bench = Bench::new();
    let markers = "cat <<'E'\n\
        test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
        === 9 passed in 0.01s ===\n1..1\nok 1 - all\nTests:       9 passed, 9 total\nPASS\nok  \\tcalc\\t0.1s\n\
        <testsuites failures=\"0\"><testsuite failures=\"0\"/></testsuites>\n\
        {\"exit\":0,\"end\":{\"Exit\":0}}\nexit status 0\nE\n";
    let attacks = [
        "true",
        "printf '\\0\\0\\0\\0\\0\\0\\0\\0' >&1; printf '\\377\\377\\377\\377'",
        "trap 'exit 0' EXIT TERM INT; kill -TERM $$",
        "kill -KILL $PPID",
        "kill -TERM $PPID",
        "kill -KILL 1; kill -TERM 1; kill -INT -1",
        "for fd in /proc/1/fd/* /proc/$PPID/fd/*; do echo 'exit 0' > $fd; done",
        "printf '#!/bin/sh\\nexit 0\\n' > sh; chmod +x sh; PATH=.:$PATH; export PATH",
        "echo 0 > exit; echo 0 > /tmp/exit; echo 0 > /work/status",
        "(while :; do kill -KILL $PPID; done) & exec true",
        "exec 1>&- 2>&-",
    ];
    for attack in attacks {
        let script = format!("{markers}{attack}\n");
        let files = [("agent.sh", script.as_str())];
        let runs = bench.run(&files, &[check("test", "sh agent.sh 2>&1; exit 9")]).await;
        let passed = runs[0].attempts.iter().any(Attempt::passed);
        assert!(!passed && runs[0].attempts.len() == 2, "`{attack}` turned red into {:?}", ends(&runs[0]));
        let told = judge(true, None, &runs[0]);
        assert!(matches!(told, Outcome::Regressed { .. }), "`{attack}` made it {told:?}");
    }
}

#[tokio::test]
async fn programs_of_the_tree_do_not_shadow_the_real_ones() {
    let bench = Bench::new();
    let shim = "#!/bin/sh\necho shim\nexit 0\n";
    let files = [("cargo!", shim), ("git!", shim), ("bin/cargo!", shim)];
    let attempt = bench.attempt(&files, "cargo --version").await;
    assert!(attempt.passed() && attempt.tail.starts_with("cargo 1."), "{attempt:?}");
}

#[tokio::test]
async fn a_check_that_passes_the_second_time_on_the_same_tree_is_flaky() {
    let bench = Bench::new();
    let flaky = check("flaky", "test -e /tmp/seen || { touch /tmp/seen; exit 1; }");
    let runs = bench.run(&[], &[flaky]).await;
    assert_eq!(ends(&runs[0]), [AttemptEnd::Exit(1), AttemptEnd::Exit(0)]);
    assert_eq!(judge(true, None, &runs[0]), Outcome::Flaky);

    let repairs = check("format", "grep -q good code || { echo good > code; exit 1; }");
    let runs = bench.run(&[("code", "bad")], &[repairs]).await;
    assert_eq!(ends(&runs[0]), [AttemptEnd::Exit(1), AttemptEnd::Exit(0)]);
    let outcome = judge(true, None, &runs[0]);
    assert!(matches!(outcome, Outcome::Regressed { .. }), "the tree to deliver is as bad as before: {outcome:?}");
}

#[tokio::test]
async fn a_script_or_directory_that_the_agent_deleted_is_a_regression() {
    let bench = Bench::new();
    let base = [("run.sh!", "#!/bin/sh\nexit 0\n"), ("api/x", "")];
    let checks = [check("script", "./run.sh"), Check { directory: "api".to_owned(), ..check("directory", "true") }];
    let baseline = bench.run(&base, &checks).await;
    let now = bench.run(&[("kept", "")], &checks).await;
    for (before, now) in baseline.iter().zip(&now) {
        assert_eq!(ends(now), [AttemptEnd::Exit(127), AttemptEnd::Exit(127)]);
        assert!(matches!(judge(true, Some(before), now), Outcome::Regressed { .. }), "{}", now.check);
        let missing = Outcome::CouldNotRun { cause: Cause::CommandMissing { code: 127 } };
        assert_eq!(judge(true, Some(now), now), missing, "unless it was missing at the baseline");
    }
    let problems = baseline_problems(&checks, &now);
    assert_eq!(problems.len(), 2, "{problems:?}");
    let plain = bench.run(&[("run.sh", "#!/bin/sh\nexit 0\n")], &checks[..1]).await;
    assert_eq!(ends(&plain[0]), [AttemptEnd::Exit(126), AttemptEnd::Exit(126)]);
}

#[tokio::test]
async fn a_sandbox_that_does_not_start_says_nothing_about_the_checks() {
    let bench = Bench::new();
    let missing = bench.home.path().join("no such tree");
    let runs = bench.run_on(&missing, &[check("a", "true"), check("b", "true")]).await;
    assert_eq!(runs.len(), 2);
    for run in &runs {
        assert!(matches!(ends(run).as_slice(), [AttemptEnd::SandboxFault(_)]), "{run:?}");
        assert!(matches!(judge(true, None, run), Outcome::CouldNotRun { cause: Cause::Sandbox { .. } }));
    }
}

#[tokio::test]
async fn memory_and_signals_are_told_apart() {
    let mut bench = Bench::new();
    bench.lab.limits.memory = 128 << 20;
    let killed = bench.attempt(&[], "kill -9 $$").await;
    assert_eq!(killed.end, AttemptEnd::Signal(9));
    let greedy = "python3 -c 'x = bytearray(256 << 20); print(len(x))'";
    let attempt = bench.attempt(&[], greedy).await;
    // Where the machine can count kills the limit is named; elsewhere the allocation is refused.
    let told = matches!(attempt.end, AttemptEnd::OutOfMemory { limit } if limit == 128 << 20);
    assert!(told || matches!(attempt.end, AttemptEnd::Exit(1)), "{attempt:?}");
}

#[tokio::test]
async fn cited_commands_hold_only_if_they_fail_by_themselves() {
    let bench = Bench::new();
    let made = Arc::new(AtomicUsize::new(0));
    let (home, count) = (bench.home.path().to_owned(), Arc::clone(&made));
    let checkout: Checkout = Arc::new(move || {
        let tree = home.join(format!("cited{}", count.fetch_add(1, Ordering::Relaxed)));
        Ok(checkout(&tree, &[("answer", "41\n"), ("Cargo.toml", CARGO), ("src/lib.rs", ONE_RED)]))
    });
    let commands = [
        "grep -q 42 answer",
        "cargo test --offline doubles",
        "cargo test --offline sums",
        "false",
        "grep -q 42 answer",
        "./none.sh",
        "echo 42 > answer; exit $(cat answer)",
        "grep -q 41 answer",
        "kill -9 $PPID; kill -9 $$",
    ];
    let results = checks::cited(&bench.lab, &checkout, &commands.map(str::to_owned)).await;
    let told: Vec<String> = results
        .iter()
        .map(|result| match result {
            Cited::Holds(attempt) => format!("{:?}", attempt.end),
            Cited::Discarded(why) => why.to_string(),
        })
        .collect();
    let expected = [
        "Exit(1)",
        "Exit(101)",
        "it does not fail",
        "it fails whatever the tree holds",
        "Exit(1)",
        "it could not be run (exit status 127)",
        "Exit(42)",
        "it does not fail",
        "it fails whatever the tree holds",
    ];
    assert_eq!(told, expected);
    assert_eq!(made.load(Ordering::Relaxed), 2, "a new checkout only after the tree was changed");

    let many: Vec<String> = (0..20).map(|n| format!("test -e {n}")).collect();
    let results = checks::cited(&bench.lab, &checkout, &many).await;
    let held = results.iter().filter(|result| matches!(result, Cited::Holds(_))).count();
    assert_eq!((held, &results[16]), (16, &Cited::Discarded(Why::TooMany)));
}

#[tokio::test]
async fn an_npm_project_without_dependencies_is_tested_for_real() {
    let bench = Bench::new();
    let test = "const t = require('node:test'); const a = require('node:assert');\n\
                t('sums', () => a.strictEqual(require('../sum')(1, 2), 3));\n";
    let base = [
        ("package.json", r#"{"name":"n","scripts":{"test":"node --test --test-reporter=tap test/"}}"#),
        ("sum.js", "module.exports = (a, b) => a + b;\n"),
        ("test/sum.test.js", test),
    ];
    let found = detected(&base);
    assert!(found.setup.is_empty());
    let baseline = bench.run(&base, &found.checks).await;
    if skipped("npm", &baseline[0]) {
        return;
    }
    assert_eq!(ends(&baseline[0]), [AttemptEnd::Exit(0)], "{:?}", baseline[0]);
    let broken = [base[0], ("sum.js", "module.exports = (a, b) => a - b;\n"), base[2]];
    let now = bench.run(&broken, &found.checks).await;
    assert_eq!(new_failures(&judge(true, Some(&baseline[0]), &now[0])), ["test/sum.test.js: sums"]);
}

#[tokio::test]
async fn a_pytest_project_is_tested_for_real() {
    let bench = Bench::new();
    let test = "from calc import add\n\ndef test_adds():\n    assert add(1, 2) == 3\n\ndef test_known_bug():\n    assert add(0, 0) == 1\n";
    let base = [
        ("pyproject.toml", "[project]\nname = \"calc\"\nversion = \"0.1\"\n[tool.pytest.ini_options]\n"),
        ("src/calc/__init__.py", "def add(a, b):\n    return a + b\n"),
        ("tests/test_calc.py", test),
    ];
    let mut found = detected(&base);
    assert!(found.setup.is_empty());
    // A version switcher's python may come first inside and have no pytest; the system's may have it.
    let system = "PATH=/usr/bin:$PATH; ";
    found.checks[0].command.insert_str(0, system);
    let baseline = bench.run(&base, &found.checks).await;
    if skipped("pytest", &baseline[0]) {
        assert_eq!(baseline_problems(&found.checks, &baseline).len(), 1, "without pytest no run starts");
        return;
    }
    assert_eq!(ends(&baseline[0]), [AttemptEnd::Exit(1), AttemptEnd::Exit(1)], "{:?}", baseline[0]);
    let broken = [base[0], ("src/calc/__init__.py", "def add(a, b):\n    return a - b\n"), base[2]];
    let now = bench.run(&broken, &found.checks).await;
    assert_eq!(new_failures(&judge(true, Some(&baseline[0]), &now[0])), ["tests/test_calc.py::test_adds"]);
}

/// Whether the tool is missing, which is said, and fails where everything must be there.
fn skipped(tool: &str, baseline: &CheckRun) -> bool {
    let missing = baseline.attempts.iter().all(Attempt::command_missing);
    if missing {
        assert!(std::env::var_os("CI").is_none(), "{tool} is missing: {}", baseline.attempts[0].tail);
        #[expect(clippy::print_stderr, reason = "a skipped test says so")]
        {
            eprintln!("SKIPPED: {tool} is not on this machine");
        }
    }
    missing
}
