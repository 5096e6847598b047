//! Which checks a repository has, found in its base tree: never in the tree that an agent left.
//!
//! `.countersign.toml` wins over everything that is found. Everything read here is somebody else's:
//! sizes and counts are bounded, and what cannot be read is left out and said.

mod cargo;
mod declared;
mod instructions;
mod node;
mod python;
mod tree;

use crate::cycle::checks::{Check, Kind, Source, in_running_order};

pub use declared::Error;
pub use instructions::Instructions;
use tree::Tree;

/// The file on the base commit that says what is to be checked.
pub const FILE: &str = ".countersign.toml";

/// How long a check may take that says nothing about it, in seconds.
pub const TIME_LIMIT_S: u32 = 600;

/// Reads the first bytes, at most so many, of a file; `None` if it cannot be read.
pub type ReadFile<'a> = dyn Fn(&[u8], usize) -> Option<Vec<u8>> + 'a;

/// A base tree to look into.
pub struct Files<'a> {
    /// Every regular file (no links), relative to the root, in any order.
    pub paths: &'a [Vec<u8>],
    /// Asked for files of `paths` only.
    pub read: &'a ReadFile<'a>,
}

/// A command that is to run before the checks, on the base tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// Run by `sh -c`.
    pub command: String,
    /// Relative to the work tree; empty for its root.
    pub directory: String,
    /// Why it is needed, as the end of a sentence.
    pub why: String,
    /// Whether it can only work with a network.
    pub needs_network: bool,
}

/// What a base tree says about checking it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detected {
    /// In the order in which they run; names are unique.
    pub checks: Vec<Check>,
    /// In the order in which they run.
    pub setup: Vec<Setup>,
    /// One sentence for everything that was found or left out.
    pub why: Vec<String>,
    /// Protected paths, if the file names any.
    pub protected: Option<Vec<String>>,
    /// Whether the file says that a run may be accepted though nothing was checked.
    pub accept_without_checks: bool,
    /// Whether the file says that what failed on the base blocks as well.
    pub strict_baseline: bool,
    /// What the repository tells agents.
    pub instructions: Vec<Instructions>,
}

impl Detected {
    /// Why no run can start, as a sentence for a person; `None` if one can.
    ///
    /// Setup is not performed yet: with a network it could not be, and without one it belongs into a check's command.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        let command = &self.setup.first()?.command;
        self.refusal_without_network().or_else(|| {
            Some(format!(
                "Setup commands are not run yet (`{command}`): put them at the start of the check's own command."
            ))
        })
    }

    /// Why no run can start, as one sentence, if setup needs a network and there is none.
    #[must_use]
    pub fn refusal_without_network(&self) -> Option<String> {
        let setup = self.setup.iter().find(|setup| setup.needs_network)?;
        let place = if setup.directory.is_empty() { String::new() } else { format!(" in {}", setup.directory) };
        Some(format!(
            "Setting up this repository needs the network (`{}`{place}, since {}), and sandboxes here have none: \
             vendor what it needs, or say in {FILE} which checks work without it.",
            setup.command, setup.why
        ))
    }
}

/// Reads what is to be checked from a base tree.
///
/// # Errors
/// If [`FILE`] is there and is not what it should be: what is wrong with it, where, and what would be right.
pub fn detect(files: &Files<'_>) -> Result<Detected, Error> {
    let tree = Tree::new(files);
    let declared = declared::read(&tree)?;
    let mut detected = Detected { instructions: instructions::read(&tree), ..Detected::default() };
    if declared.checks.is_empty() {
        cargo::detect(&tree, &mut detected);
        node::detect(&tree, &mut detected);
        python::detect(&tree, &mut detected);
    } else {
        detected.why.push(format!("{FILE} says what is checked, so nothing else was looked for."));
    }
    detected.checks.extend(declared.checks);
    in_running_order(&mut detected.checks);
    detected.setup = declared.setup.unwrap_or(detected.setup);
    detected.protected = declared.protected;
    detected.accept_without_checks = declared.accept_without_checks;
    detected.strict_baseline = declared.strict_baseline;
    if detected.checks.is_empty() {
        detected.why.push(format!("Nothing to run was recognised; {FILE} can name commands."));
    }
    Ok(detected)
}

/// A check that was found, before it has a name.
struct Found<'a> {
    tool: &'a str,
    kind: Kind,
    command: String,
    directory: &'a str,
    required: bool,
    why: String,
}

impl Detected {
    fn add(&mut self, found: Found<'_>) {
        let place = if found.directory.is_empty() { String::new() } else { format!(" in {}", found.directory) };
        self.why.push(format!("`{}`{place}: {}.", found.command, found.why));
        self.checks.push(Check {
            name: format!("{}{place}", found.tool),
            kind: found.kind,
            command: found.command,
            directory: found.directory.to_owned(),
            time_limit_s: TIME_LIMIT_S,
            required: found.required,
            source: Source::Detected { why: found.why },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths with their texts.
    type Given<'a> = &'a [(&'a str, &'a str)];

    /// What is detected in a tree of these files.
    fn look(files: Given<'_>) -> Result<Detected, Error> {
        let paths: Vec<Vec<u8>> = files.iter().map(|(path, _)| path.as_bytes().to_vec()).collect();
        let read = |path: &[u8], max: usize| {
            let (_, text) = files.iter().find(|(name, _)| name.as_bytes() == path)?;
            Some(text.as_bytes()[..text.len().min(max)].to_vec())
        };
        detect(&Files { paths: &paths, read: &read })
    }

    fn found(files: Given<'_>) -> Detected {
        look(files).expect("there is no wrong file")
    }

    /// Each check as `kind[?] directory$ command`, `?` for one that is not required.
    fn checks(detected: &Detected) -> Vec<String> {
        let line = |check: &Check| {
            let optional = if check.required { "" } else { "?" };
            format!("{}{optional} {}$ {}", check.kind, check.directory, check.command)
        };
        detected.checks.iter().map(line).collect()
    }

    /// Each setup command as `directory$ command`, `!` for one that needs the network.
    fn setup(detected: &Detected) -> Vec<String> {
        let line = |setup: &Setup| {
            format!("{}{}$ {}", if setup.needs_network { "!" } else { "" }, setup.directory, setup.command)
        };
        detected.setup.iter().map(line).collect()
    }

    const PACKAGE: &str = "[package]\nname = \"calc\"\nversion = \"0.1.0\"\n";
    const CARGO_TEST: &str = "test $ cargo test --offline --no-fail-fast";
    const PYTEST: &str = "python3 -c 'import pytest' || exit 127; python3 -m pytest";

    #[test]
    fn a_repository_without_recognisable_commands_has_nothing_to_run() {
        let detected = found(&[("README.md", "# hello"), ("notes.txt", "")]);
        assert!(detected.checks.is_empty() && detected.setup.is_empty() && !detected.accept_without_checks);
        assert_eq!(detected.why, ["Nothing to run was recognised; .countersign.toml can name commands."]);
        assert_eq!(detected.refusal_without_network(), None);
        assert!(found(&[]).checks.is_empty());
    }

    #[test]
    fn a_cargo_package_is_tested_offline() {
        let detected = found(&[("Cargo.toml", PACKAGE), ("src/lib.rs", "")]);
        assert_eq!(checks(&detected), [CARGO_TEST]);
        assert_eq!(detected.checks[0].name, "cargo test");
        assert!(matches!(&detected.checks[0].source, Source::Detected { why } if why.contains("Cargo package")));
        assert!(detected.setup.is_empty() && detected.refusal_without_network().is_none());
    }

    #[test]
    fn a_cargo_workspace_is_tested_as_a_whole_and_its_lints_are_optional() {
        let detected = found(&[
            ("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n[workspace.lints.clippy]\nall = \"warn\"\n"),
            ("a/Cargo.toml", PACKAGE),
            ("rustfmt.toml", ""),
        ]);
        let expected = [
            "lint? $ cargo fmt --all --check",
            "lint? $ cargo clippy --workspace --all-targets --offline",
            "test $ cargo test --workspace --offline --no-fail-fast",
        ];
        assert_eq!(checks(&detected), expected);
        assert!(detected.why.iter().any(|why| why == "a/Cargo.toml is left to the Cargo project at the root."));
    }

    #[test]
    fn a_cargo_project_needs_the_network_only_for_packages_that_are_not_in_its_tree() {
        let own = "[[package]]\nname = \"calc\"\nversion = \"0.1.0\"\n";
        let other = "[[package]]\nname = \"libc\"\nversion = \"0.2.0\"\nsource = \"registry+https://x\"\n";
        let vendored = "[source.crates-io]\nreplace-with = \"v\"\n[source.v]\ndirectory = \"vendor\"\n";
        let locked = format!("{own}{other}");
        let table: [(Given<'_>, &[&str]); 10] = [
            (&[("Cargo.lock", own)], &[]),
            (&[("Cargo.lock", &locked)], &["!$ cargo fetch"]),
            (&[("Cargo.lock", "not toml [")], &["!$ cargo fetch"]),
            (&[("Cargo.lock", &locked), (".cargo/config.toml", vendored), ("vendor/libc/Cargo.toml", "")], &[]),
            (&[("Cargo.lock", &locked), (".cargo/config.toml", vendored)], &["!$ cargo fetch"]),
            (&[("b/Cargo.toml", "[dependencies]\nlibc = \"0.2\"\n")], &["!$ cargo fetch"]),
            (&[("b/Cargo.toml", "[dependencies]\na = { path = \"../a\" }\nc = { workspace = true }\n")], &[]),
            (&[("b/Cargo.toml", "[dev-dependencies]\nx = { git = \"https://x\" }\n")], &["!$ cargo fetch"]),
            (&[("b/Cargo.toml", "[target.'cfg(unix)'.dependencies]\nx = \"1\"\n")], &["!$ cargo fetch"]),
            (&[("b/Cargo.toml", "[workspace.dependencies]\nx = \"1\"\n")], &["!$ cargo fetch"]),
        ];
        for (files, expected) in table {
            let files = [&[("Cargo.toml", PACKAGE)], files].concat();
            assert_eq!(setup(&found(&files)), expected, "for {files:?}");
        }
        let refusal = found(&[("Cargo.toml", PACKAGE), ("Cargo.lock", &locked)]).refusal_without_network();
        let sentence = "Setting up this repository needs the network (`cargo fetch`, since Cargo.lock names 1 packages \
                        from elsewhere), and sandboxes here have none: vendor what it needs, or say in \
                        .countersign.toml which checks work without it.";
        assert_eq!(refusal.as_deref(), Some(sentence));
    }

    #[test]
    fn npm_scripts_are_run_but_not_the_placeholder_of_npm_init() {
        let scripts =
            r#"{"scripts":{"test":"node --test","lint":"eslint .","type-check":"tsc","build":"x","dev":"y"}}"#;
        let detected = found(&[("package.json", scripts)]);
        let expected =
            ["build $ npm run build", "typecheck $ npm run type-check", "lint? $ npm run lint", "test $ npm test"];
        assert_eq!(checks(&detected), expected);
        assert!(detected.setup.is_empty());
        let placeholder = r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#;
        for nothing in [placeholder, "{}", "[]", "not json", r#"{"scripts":{"test":""}}"#, r#"{"scripts":[1]}"#] {
            assert!(found(&[("package.json", nothing)]).checks.is_empty(), "{nothing}");
        }
    }

    #[test]
    fn the_package_manager_is_the_declared_one_or_that_of_the_nearest_lock_file() {
        let plain = r#"{"scripts":{"test":"x"},"devDependencies":{"jest":"1"}}"#;
        let declared = r#"{"scripts":{"test":"x"},"packageManager":"yarn@4.1.0","dependencies":{"a":"1"}}"#;
        let table: [(Given<'_>, &str, &str); 7] = [
            (&[("package.json", plain)], "test $ npm test", "!$ npm install"),
            (&[("package.json", plain), ("package-lock.json", "")], "test $ npm test", "!$ npm ci"),
            (
                &[("package.json", plain), ("pnpm-lock.yaml", "")],
                "test $ pnpm run test",
                "!$ pnpm install --frozen-lockfile",
            ),
            (&[("package.json", plain), ("bun.lockb", "")], "test $ bun run test", "!$ bun install --frozen-lockfile"),
            (&[("package.json", declared), ("package-lock.json", "")], "test $ yarn run test", "!$ yarn install"),
            (
                &[("package.json", declared), ("yarn.lock", ""), ("pnpm-lock.yaml", "")],
                "test $ yarn run test",
                "!$ yarn install --immutable",
            ),
            (
                &[("app/package.json", plain), ("yarn.lock", "")],
                "test app$ yarn run test",
                "!$ yarn install --immutable",
            ),
        ];
        for (files, check, install) in table {
            let detected = found(files);
            assert_eq!(
                (checks(&detected), setup(&detected)),
                (vec![check.to_owned()], vec![install.to_owned()]),
                "{files:?}"
            );
        }
        let mixed = found(&[("package.json", declared), ("package-lock.json", "")]);
        assert!(mixed.why[0].contains("declares yarn (package-lock.json is of another one)"), "{:?}", mixed.why);
    }

    #[test]
    fn a_monorepo_has_several_roots_and_one_lock_file_for_its_packages() {
        let package = |name: &str, to: &str| {
            format!(
                r#"{{"name":"{name}","scripts":{{"test":"x","lint":"y"}},"dependencies":{{"{to}":"workspace:*"}}}}"#
            )
        };
        let (api, web) = (package("api", "web"), package("web", "left-pad"));
        let files = [
            ("package.json", r#"{"private":true,"packageManager":"pnpm@9.1.0","scripts":{"lint":"eslint ."}}"#),
            ("pnpm-lock.yaml", ""),
            ("pnpm-workspace.yaml", "packages: [apps/*]"),
            ("apps/api/package.json", api.as_str()),
            ("apps/web/package.json", web.as_str()),
            ("apps/web/node_modules/x/package.json", api.as_str()),
            ("apps/web/tests/fixtures/package.json", api.as_str()),
            ("engine/Cargo.toml", PACKAGE),
        ];
        let detected = found(&files);
        let expected = [
            "lint? $ pnpm run lint",
            "test engine$ cargo test --offline --no-fail-fast",
            "test apps/api$ pnpm run test",
            "test apps/web$ pnpm run test",
        ];
        assert_eq!(checks(&detected), expected);
        assert_eq!(setup(&detected), ["$ pnpm install --frozen-lockfile --offline"], "once, where the lock file is");
        assert!(detected.why.iter().any(|why| why == "`lint` in apps/api is left to the `lint` of package.json."));
        let names: std::collections::BTreeSet<_> = detected.checks.iter().map(|check| &check.name).collect();
        assert_eq!(names.len(), detected.checks.len(), "names are unique");
    }

    #[test]
    fn installing_needs_no_network_where_everything_is_in_the_tree() {
        let json = r#"{"name":"a","scripts":{"test":"x"},"dependencies":{"b":"1.0.0","c":"file:../c"}}"#;
        let own = found(&[("package.json", json), ("b/package.json", r#"{"name":"b"}"#)]);
        assert_eq!(setup(&own), ["$ npm install --offline"]);
        let committed = found(&[("package.json", json), ("node_modules/b/index.js", "")]);
        assert!(committed.setup.is_empty());
    }

    #[test]
    fn pytest_is_recognised_by_its_configuration_or_its_tests() {
        let table: [Given<'_>; 8] = [
            &[("pytest.ini", "")],
            &[("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-q\"\n")],
            &[("setup.cfg", "[metadata]\nname = x\n[tool:pytest]\n")],
            &[("tox.ini", "[pytest]\n")],
            &[("tests/test_a.py", "")],
            &[("test_a.py", "")],
            &[("tests/unit/a_test.py", "")],
            &[("conftest.py", "")],
        ];
        for files in table {
            assert_eq!(checks(&found(files)), [format!("test $ {PYTEST}")], "{files:?}");
        }
        for files in
            [&[("a.py", "")][..], &[("pyproject.toml", "[project]\nname = \"x\"\n")], &[("tests/helper.py", "")]]
        {
            assert!(found(files).checks.is_empty(), "{files:?}");
        }
        let src = found(&[("pytest.ini", ""), ("src/pkg/__init__.py", "")]);
        assert_eq!(src.checks[0].command, "python3 -c 'import pytest' || exit 127; PYTHONPATH=src python3 -m pytest");
        let nested =
            found(&[("services/a/pyproject.toml", "[tool.pytest.ini_options]\n"), ("services/b/setup.py", "")]);
        assert_eq!(checks(&nested), [format!("test services/a$ {PYTEST}")]);
    }

    #[test]
    fn a_python_project_needs_the_network_for_packages_other_than_pytest() {
        let pip = "python3 -m venv .venv && .venv/bin/python -m pip install";
        let table: [(Given<'_>, Option<&str>); 10] = [
            (&[("pyproject.toml", "[project]\ndependencies = []\n")], None),
            (&[("pyproject.toml", "[project]\ndependencies = [\"requests>=2\"]\n")], Some("-e .")),
            (&[("pyproject.toml", "[project.optional-dependencies]\ntest = [\"pytest>=8\"]\n")], None),
            (&[("pyproject.toml", "[dependency-groups]\ndev = [\"pytest\", \"hypothesis\"]\n")], Some("-e .")),
            (&[("pyproject.toml", "[tool.poetry.dependencies]\npython = \"^3.11\"\n")], None),
            (&[("pyproject.toml", "[tool.poetry.group.dev.dependencies]\nattrs = \"*\"\n")], Some("-e .")),
            (&[("requirements.txt", "# none\n\npytest==8.0\n-r other.txt\n")], None),
            (&[("requirements.txt", "flask\n")], Some("-r requirements.txt")),
            (&[("setup.py", "setup(install_requires=['x'])")], Some("-e .")),
            (&[("setup.py", "setup()")], None),
        ];
        for (files, what) in table {
            let files = [&[("pytest.ini", "")], files].concat();
            let expected: Vec<String> = what.map(|what| format!("!$ {pip} {what} pytest")).into_iter().collect();
            assert_eq!(setup(&found(&files)), expected, "{files:?}");
        }
    }

    #[test]
    fn the_file_on_the_base_wins_over_what_would_be_found() {
        let file = r#"
            protected = ["deploy/**"]
            accept_without_checks = true
            strict_baseline = true
            [setup]
            commands = ["make tools"]
            [[check]]
            name = "test"
            command = "make test"
            timeout = "1h30m"
            [[check]]
            name = "types"
            kind = "typecheck"
            command = "make types"
            directory = "api/"
            required = false
        "#;
        let detected = found(&[(FILE, file), ("Cargo.toml", PACKAGE), ("api/x", "")]);
        assert_eq!(checks(&detected), ["typecheck? api$ make types", "test $ make test"]);
        assert_eq!(detected.checks[1].time_limit_s, 5_400);
        assert_eq!(detected.checks[0].time_limit_s, TIME_LIMIT_S);
        assert!(detected.checks.iter().all(|check| check.source == Source::File));
        assert_eq!(setup(&detected), ["$ make tools"]);
        assert_eq!(detected.protected.as_deref(), Some(&["deploy/**".to_owned()][..]));
        assert!(detected.accept_without_checks && detected.strict_baseline);
    }

    #[test]
    fn a_file_without_checks_leaves_them_to_detection() {
        let locked = "[[package]]\nname = \"x\"\nsource = \"registry+x\"\n";
        let files = [("Cargo.toml", PACKAGE), ("Cargo.lock", locked)];
        let silent = found(&[&files[..], &[(FILE, "accept_without_checks = false\n")]].concat());
        assert_eq!((checks(&silent), setup(&silent)), (vec![CARGO_TEST.to_owned()], vec!["!$ cargo fetch".to_owned()]));
        let no_setup = found(&[&files[..], &[(FILE, "[setup]\ncommands = []\n")]].concat());
        assert_eq!((checks(&no_setup), setup(&no_setup)), (vec![CARGO_TEST.to_owned()], vec![]));
        let online = found(&[&files[..], &[(FILE, "[setup]\nnetwork = true\ncommands = [\"make get\"]\n")]].concat());
        assert!(
            online.refusal_without_network().is_some_and(|why| why.contains("`make get`, since .countersign.toml"))
        );
    }

    #[test]
    fn what_is_wrong_with_the_file_is_said_with_what_would_be_right() {
        let check = |more: &str| format!("[[check]]\nname = \"a\"\ncommand = \"x\"\n{more}");
        let many = check("").replace("\"a\"", "\"NAME\"");
        let many: String = (0..65).map(|n| many.replace("NAME", &n.to_string())).collect();
        let table = [
            ("chekc = 1".to_owned(), "has an unknown key `chekc` at the top; did you mean `check`?"),
            (
                check("time_out = \"1m\""),
                "has an unknown key `time_out` of [[check]] number 1; did you mean `timeout`?",
            ),
            ("[setup]\ncommand = []".to_owned(), "has an unknown key `command` of [setup]; did you mean `commands`?"),
            ("[check]\nname = \"a\"".to_owned(), ": check at the top must be written as [[check]], with two brackets"),
            ("[[check]]\nname = \"a\"".to_owned(), ": command of [[check]] number 1 is missing"),
            ("[[check]]\ncommand = \"a\"".to_owned(), ": name of [[check]] number 1 is missing"),
            (
                check("kind = \"tests\""),
                ": kind of [[check]] number 1 must be one of build, typecheck, lint, test, other",
            ),
            (check("timeout = \"25h\""), ": timeout of [[check]] number 1 must be a time like"),
            (check("timeout = \"0s\""), ": timeout of [[check]] number 1 must be a time like"),
            (check("timeout = \"5\""), ": timeout of [[check]] number 1 must be a time like"),
            (check("timeout = 5"), ": timeout of [[check]] number 1 must be a time like"),
            (check("required = 1"), ": required of [[check]] number 1 must be true or false"),
            (check("directory = \"../x\""), ": directory of [[check]] number 1 must be a directory of the repository"),
            (check("directory = \"/etc\""), ": directory of [[check]] number 1 must be a directory of the repository"),
            (check("directory = \"none\""), ": directory of [[check]] number 1 must be a directory of the repository"),
            (check("") + &check(""), ": name of [[check]] number 2 must be its own: another check is called `a`"),
            (
                check("").replace("\"x\"", "\"a\\u0000b\""),
                ": command of [[check]] number 1 must be text of 1 to 8192 bytes",
            ),
            (check("").replace("\"a\"", "\"a\\nb\""), ": name of [[check]] number 1 must be one line"),
            (check("").replace("\"x\"", "\" \""), ": command of [[check]] number 1 must be text of 1 to 8192 bytes"),
            (
                check("").replace('x', &"x".repeat(8_193)),
                ": command of [[check]] number 1 must be text of 1 to 8192 bytes",
            ),
            (many, ": check at the top may be there at most 64 times"),
            (
                "protected = [\"a[\"]".to_owned(),
                ": protected at the top must be globs like `deploy/**`, which `a[` is not",
            ),
            ("protected = \"a\"".to_owned(), ": protected at the top must be a list of at most 256 texts"),
            ("\n= 1".to_owned(), "is not valid TOML in line 2: "),
            ("#".repeat(64 * 1024 + 1), "cannot be read: it must be UTF-8 text of at most 65536 bytes"),
            ("a = ".to_owned() + &"[".repeat(30_000), "is not valid TOML in line 1: "),
        ];
        for (file, message) in table {
            let error = look(&[(FILE, file.as_str())]).expect_err("it is wrong").to_string();
            assert!(error.contains(message), "`{message}` is not in `{}`", error.chars().take(300).collect::<String>());
            assert!(error.len() < 2_000, "{} bytes of error", error.len());
        }
    }

    #[test]
    fn hostile_trees_are_bounded() {
        let huge = format!("{{\"scripts\":{{\"test\":\"x\"}},\"x\":\"{}\"}}", "x".repeat(1 << 20));
        let deep = "[".repeat(100_000);
        let detected = found(&[("package.json", &huge), ("Cargo.toml", &deep), ("pyproject.toml", &deep)]);
        assert_eq!(checks(&detected), [CARGO_TEST; 0]);
        assert!(detected.why.iter().any(|why| why == "package.json cannot be read as JSON."));
        assert!(detected.why.iter().any(|why| why == "Cargo.toml cannot be read as TOML."));
        let json = r#"{"scripts":{"test":"x"}}"#;
        let names: Vec<String> = (0..1_000).map(|n| format!("p{n}/package.json")).collect();
        let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), json)).collect();
        assert!(found(&many).checks.len() <= 200);
        let odd =
            found(&[("a/b/c/d/e/package.json", json), (".hidden/package.json", json), ("a\n/package.json", json)]);
        assert!(odd.checks.is_empty());
    }

    #[test]
    fn instructions_are_read_as_data_from_the_base() {
        let long = "é".repeat(64 * 1024);
        let detected = found(&[("AGENTS.md", "be kind"), ("CLAUDE.md", &long), ("docs/AGENTS.md", "no")]);
        let read: Vec<_> = detected.instructions.iter().map(|i| (i.path.as_str(), i.text.len())).collect();
        assert_eq!(read, [("AGENTS.md", 7), ("CLAUDE.md", 64 * 1024)]);
    }
}
