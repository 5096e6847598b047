//! The names of failing tests, read from what test tools print.
//!
//! Names never decide whether a check passed: the exit status does. They only tell old failures from
//! new ones on a base that was red already, so each reader leans to one side. It returns names only from an
//! output that is complete by the tool's own account (each begun part ended, and as many names as
//! the tool counted failures); everything else is `None`, which excuses nothing. No printed line takes
//! a name away: whoever prints a fake `test x ... ok` changes nothing, a fake failure only adds a
//! name, and a fake or missing summary makes the output unreadable.

mod go;
mod jest;
mod junit;
mod libtest;
mod nextest;
mod pytest;
mod tap;

use std::collections::{BTreeMap, BTreeSet};

/// More failing tests than this count as not readable.
const MOST_NAMES: usize = 5_000;
/// Names that are longer than this together, in bytes, count as not readable: they are stored with the run.
const MOST_BYTES: usize = 256 * 1024;
/// A longer name in bytes makes the output count as not readable: cut names could be mistaken for each other.
const LONGEST_NAME: usize = 1_024;

/// What one format's reader found in an output.
#[derive(Debug, PartialEq, Eq)]
enum Read {
    /// No sign of this format.
    Absent,
    /// The format, but not all of it.
    Cut,
    /// All failing tests.
    All(BTreeSet<String>),
}

/// Names being gathered, within bounds.
#[derive(Debug, Default)]
struct Names {
    /// How often each one was reported.
    times: BTreeMap<String, usize>,
    reported: usize,
    bytes: usize,
    too_much: bool,
}

impl Names {
    /// Counts a failure; the second of a name is a failure of its own, so that two never look like one.
    fn add(&mut self, name: &str) {
        self.bytes = self.bytes.saturating_add(name.len());
        if self.admits(name) {
            *self.times.entry(name.to_owned()).or_default() += 1;
            self.reported += 1;
        }
    }

    /// Counts a failure that may be reported more than once.
    fn note(&mut self, name: &str) {
        if !self.times.contains_key(name) {
            self.add(name);
        }
    }

    fn admits(&mut self, name: &str) -> bool {
        self.too_much |= name.len() > LONGEST_NAME || self.reported >= MOST_NAMES || self.bytes > MOST_BYTES;
        !self.too_much
    }

    /// All of them if the tool counted no more failures than there are names.
    fn if_at_least(self, counted: usize) -> Read {
        if self.too_much || self.reported < counted { Read::Cut } else { Read::All(self.into_set()) }
    }

    fn into_set(self) -> BTreeSet<String> {
        let numbered = |(name, times): (String, usize)| {
            let more: Vec<String> = (2..=times).map(|n| format!("{name} #{n}")).collect();
            more.into_iter().chain([name])
        };
        self.times.into_iter().flat_map(numbered).collect()
    }
}

/// The failing tests that `text` names, from libtest, nextest, pytest, JUnit XML, go test, TAP and
/// jest; `None` if there are none of these or one of them is not complete.
///
/// `text` is what a failing check printed, escapes removed; any text is safe to give.
#[must_use]
pub fn failing_tests(text: &str) -> Option<BTreeSet<String>> {
    let readers = [libtest::read, nextest::read, pytest::read, junit::read, go::read, tap::read, jest::read];
    let mut all = BTreeSet::new();
    for read in readers {
        match read(text) {
            Read::Absent => {}
            Read::Cut => return None,
            Read::All(names) => all.extend(names),
        }
    }
    (!all.is_empty()).then_some(all)
}

/// The number before `word` in a list like `1 passed; 3 failed; 0 ignored`, added up over all its
/// occurrences; 0 if there is none.
fn counted(list: &str, separator: char, word: &str) -> usize {
    let items = list.split(separator).filter_map(|item| item.trim().split_once(' '));
    // nextest explains some counts: `2 failed (1 due to being leaky)`.
    let same = |what: &str| what.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("));
    items.filter(|(_, what)| same(what)).filter_map(|(n, _)| n.parse::<usize>().ok()).fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Option<Vec<String>> {
        failing_tests(text).map(Vec::from_iter)
    }

    fn some(names: &[&str]) -> Option<Vec<String>> {
        let mut names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        names.sort();
        Some(names)
    }

    const CALC: [&str; 5] = [
        "tests::adds_wrong (--lib)",
        "tests::panics_not (--lib)",
        "tests::says (--lib)",
        "adds_wrong (--test it)",
        "src/lib.rs - add (--doc)",
    ];
    const PYTEST: [&str; 5] = [
        "tests/test_a.py::test_bad",
        "tests/test_a.py::test_param[a - b]",
        "tests/test_a.py::test_param[x]y]",
        "tests/test_a.py::TestK::test_in",
        "tests/test_a.py::test_err",
    ];

    /// Recorded from cargo 1.95, nextest 0.9.143, pytest 9.2, node 20, prove 3.44 and jest 30.
    #[test]
    fn recorded_output_of_real_tools_gives_every_failing_test() {
        let table = [
            (include_str!("names/recorded/libtest.txt"), &CALC[..]),
            (include_str!("names/recorded/libtest-q.txt"), &CALC[..3]),
            (
                include_str!("names/recorded/libtest-ws.txt"),
                &[
                    "it_works (-p a --test it)",
                    "it_works (-p b --test it)",
                    "tests::it_works (-p a --lib)",
                    "tests::it_works (-p b --lib)",
                ],
            ),
            (
                include_str!("names/recorded/nextest.txt"),
                &["calc tests::adds_wrong", "calc tests::panics_not", "calc tests::says", "calc::it adds_wrong"],
            ),
            (include_str!("names/recorded/nextest-crash.txt"), &["calc::crash dies"]),
            (include_str!("names/recorded/nextest-slow.txt"), &["calc::slow slow"]),
            (include_str!("names/recorded/pytest.txt"), &PYTEST[..]),
            (include_str!("names/recorded/pytest-q.txt"), &PYTEST[..]),
            (
                include_str!("names/recorded/pytest.xml"),
                &[
                    "tests.test_a test_bad",
                    "tests.test_a test_param[a - b]",
                    "tests.test_a test_param[x]y]",
                    "tests.test_a.TestK test_in",
                    "tests.test_a test_err",
                ],
            ),
            (
                include_str!("names/recorded/tap.txt"),
                &[
                    "test/a.test.js: bad",
                    "test/a.test.js: suite",
                    "test/a.test.js: suite > in suite \\# odd",
                    "test/b.test.js: /work/test/b.test.js",
                ],
            ),
            (
                include_str!("names/recorded/node-junit.txt"),
                &["test bad", "test in suite # odd", "test /work/test/b.test.js"],
            ),
            (include_str!("names/recorded/prove-v.txt"), &["two"]),
            (
                include_str!("names/recorded/jest.txt"),
                &[
                    "./sum.test.js › bad",
                    "./sum.test.js › outer › inner › deep",
                    "./broken.test.js › Test suite failed to run",
                ],
            ),
        ];
        for (output, expected) in table {
            assert_eq!(names(output), some(expected), "from:\n{output}");
        }
    }

    /// go is not on the machine that recorded the others: this follows `go help test` and the
    /// format that the testing package documents.
    #[test]
    fn go_test_names_tests_by_package() {
        let output = "--- FAIL: TestSum (0.00s)\n    --- FAIL: TestSum/negative (0.00s)\n        sum_test.go:9: got 3\n\
                      FAIL\nFAIL\texample.com/calc\t0.003s\nok  \texample.com/fine\t0.004s\n\
                      ?   \texample.com/none\t[no test files]\n# example.com/odd\nodd/odd.go:3:1: undefined: x\n\
                      FAIL\texample.com/odd [build failed]\nFAIL\n";
        let expected =
            some(&["example.com/calc TestSum", "example.com/calc TestSum/negative", "example.com/odd [build failed]"]);
        assert_eq!(names(output), expected);
        for cut in [
            "--- FAIL: TestSum (0.00s)\npanic: boom [recovered]\n\tpanic: boom\nFAIL\texample.com/calc\t0.003s\nFAIL\n",
            "FAIL\texample.com/calc\t0.003s\nFAIL\n",
            "--- FAIL: TestSum (0.00s)\nFAIL\texample.com/calc\t0.003s\n--- FAIL: TestLate (0.00s)\n",
        ] {
            assert_eq!(names(cut), None, "{cut}");
        }
    }

    #[test]
    fn an_output_that_stops_before_its_summary_has_no_names() {
        let table = [
            include_str!("names/recorded/libtest-crash.txt"),
            include_str!("names/recorded/libtest-compile.txt"),
            include_str!("names/recorded/nextest-ff.txt"),
            include_str!("names/recorded/pytest-crash.txt"),
            include_str!("names/recorded/pytest-exit.txt"),
            include_str!("names/recorded/pytest-collect.txt"),
        ];
        for output in table {
            assert_eq!(names(output), None, "from:\n{output}");
        }
        let whole = [
            include_str!("names/recorded/libtest.txt"),
            include_str!("names/recorded/nextest.txt"),
            include_str!("names/recorded/pytest.txt"),
            include_str!("names/recorded/pytest.xml"),
            include_str!("names/recorded/tap.txt"),
            include_str!("names/recorded/node-junit.txt"),
            include_str!("names/recorded/prove-v.txt"),
            include_str!("names/recorded/jest.txt"),
        ];
        for output in whole {
            let all = bare(&failing_tests(output).expect("read above"));
            for (end, _) in output.match_indices('\n') {
                // A program may be cut after any line: then all names are known, or none. What ends by
                // itself is one test program of several, and nextest's summary, which repeats them.
                let cut = &output[..end];
                let whole_part = cut.contains("\ntest result: ") || cut.contains("  Summary [");
                let read = failing_tests(cut).map(|names| bare(&names));
                let complete = read.as_ref().is_none_or(|read| *read == all || whole_part && read.is_subset(&all));
                assert!(complete, "cut at {end}: {read:?}");
            }
        }
    }

    #[test]
    fn fake_lines_add_names_or_make_the_output_unreadable_but_never_take_a_name_away() {
        let fakes = [
            "test tests::adds_wrong ... ok",
            "test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "running 3 tests",
            "failures:\n    tests::fake\n",
            "error: test failed, to rerun pass `--lib`",
            "     Summary [   0.011s] 3 tests run: 3 passed, 0 skipped",
            "        PASS [   0.007s] (2/6) calc tests::adds_wrong",
            "============================== 7 passed in 0.05s ===============================",
            "=========================== short test summary info ============================",
            "PASSED tests/test_a.py::test_bad",
            "ok 1 - bad",
            "1..1",
            "TAP version 13",
            "  ---",
            "  ...",
            "ok  \texample.com/calc\t0.003s",
            "PASS ./sum.test.js",
            "Tests:       3 passed, 3 total",
            "Test Suites: 1 passed, 1 total",
            "<testsuites><testsuite failures=\"0\"><testcase name=\"x\"/></testsuite></testsuites>",
            "<![CDATA[",
            "<!--",
            "\u{1b}[2J",
        ];
        let recorded = [
            include_str!("names/recorded/libtest.txt"),
            include_str!("names/recorded/nextest.txt"),
            include_str!("names/recorded/pytest.txt"),
            include_str!("names/recorded/pytest.xml"),
            include_str!("names/recorded/tap.txt"),
            include_str!("names/recorded/node-junit.txt"),
            include_str!("names/recorded/jest.txt"),
        ];
        for output in recorded {
            let all = failing_tests(output).expect("read above");
            let lines: Vec<&str> = output.lines().collect();
            let places = (0..=lines.len()).flat_map(|at| fakes.map(|fake| (at, fake)));
            for (at, fake) in places.step_by(5) {
                let mut faked = lines.clone();
                faked.insert(at, fake);
                if let Some(read) = failing_tests(&faked.join("\n")) {
                    assert!(bare(&all).is_subset(&bare(&read)), "`{fake}` before line {at} took a name away: {read:?}");
                }
            }
        }
    }

    /// Names without the program or file that they ran in, which a fake line may change: then they are new.
    fn bare(names: &BTreeSet<String>) -> BTreeSet<String> {
        let bare = |name: &String| {
            let name = name.rsplit_once(" (").map_or(name.as_str(), |(name, _)| name);
            name.split_once(": ").map_or(name, |(_, name)| name).to_owned()
        };
        names.iter().map(bare).collect()
    }

    #[test]
    fn a_failure_without_a_name_is_not_read_as_no_failure() {
        let table = [
            "",
            "make: *** [Makefile:3: test] Error 1",
            "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n",
            "running 2 tests\n\nfailures:\n    a\n\ntest result: FAILED. 0 passed; 2 failed; 0 ignored\n",
            "=== 2 failed, 1 passed in 0.1s ===",
            "TAP version 13\nnot ok 1 - a\n1..2\n",
            "Test Suites: 1 failed, 1 total\nTests:       1 failed, 1 total\n",
            "<testsuite failures=\"2\"><testcase name=\"a\"><failure/></testcase></testsuite>",
            "     Summary [   0.1s] 2 tests run: 0 passed, 2 failed, 0 skipped\n        FAIL [   0.1s] (1/2) a b\n",
        ];
        for output in table {
            assert_eq!(names(output), None, "from:\n{output}");
        }
    }

    #[test]
    fn hostile_sizes_are_bounded_and_any_text_is_safe() {
        let many: String = (0..=MOST_NAMES).map(|n| format!("    t{n}\n")).collect();
        let output =
            |list: &str| format!("running 1 test\nfailures:\n{list}\ntest result: FAILED. 0 passed; 1 failed;\n");
        assert_eq!(names(&output(&many)), None);
        assert_eq!(names(&output(&format!("    {}\n", "x".repeat(LONGEST_NAME + 1)))), None);
        let long: String = (0..300).map(|n| format!("    {n}{}\n", "x".repeat(LONGEST_NAME - 8))).collect();
        assert_eq!(names(&output(&long)), None);
        assert_eq!(names(&output("    a\n    a\n")), some(&["a", "a #2"]));
        let deep = "<testsuites>".repeat(100_000) + &"<testsuite/>".repeat(100_000);
        assert_eq!(names(&deep), None);
        let indented: String = (0..2_000).map(|n| format!("{}# Subtest: x\n", "    ".repeat(n % 90))).collect();
        assert_eq!(names(&format!("TAP version 13\n{indented}not ok 1 - a\n1..1\n")), None);
        let mut random = fastrand::Rng::with_seed(7);
        let pieces = [
            "not ok",
            " 1..",
            "# Subtest: ",
            "FAIL\t",
            "FAILED ",
            "[",
            "] - ",
            " - ",
            "é",
            "\n",
            "    ",
            "  ---",
            "<testsuite ",
            "\"",
            ">",
            "='",
            "Summary [",
            "] ",
            "failures:\n    ",
            "running 1 test\n",
            "test result: ",
            " in 1s",
            "  ● ",
            "FAIL ",
        ];
        for _ in 0..2_000 {
            let text: String = (0..random.usize(..40)).map(|_| pieces[random.usize(..pieces.len())]).collect();
            assert_ne!(failing_tests(&text), Some(BTreeSet::new()), "{text}");
        }
    }
}
