//! Python projects tested by pytest.

use toml::{Table, Value};

use super::tree::{Tree, is_within, join};
use super::{Detected, Found, Setup};
use crate::cycle::checks::Kind;

/// Files that make a directory a Python project.
const MANIFESTS: [&str; 7] =
    ["pyproject.toml", "pytest.ini", ".pytest.ini", "setup.cfg", "setup.py", "tox.ini", "requirements.txt"];

const REQUIREMENTS: [&str; 6] = [
    "requirements.txt",
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "requirements-test.txt",
    "test-requirements.txt",
];

/// Extras and groups that tests need, by their usual names.
const TEST_GROUPS: [&str; 5] = ["test", "tests", "testing", "dev", "all"];

pub(super) fn detect(tree: &Tree<'_>, detected: &mut Detected) {
    let mut directories: Vec<&str> = MANIFESTS.iter().flat_map(|name| tree.directories_with(name)).collect();
    directories.push("");
    directories.sort_by_key(|directory| (directory.len(), *directory));
    directories.dedup();
    let mut roots: Vec<&str> = Vec::new();
    for directory in directories {
        if roots.iter().any(|root| is_within(directory, root)) {
            continue;
        }
        let Some(why) = evidence(tree, directory) else { continue };
        let command = command(tree, directory);
        detected.add(Found { tool: "pytest", kind: Kind::Test, command, directory, required: true, why });
        detected.setup.extend(install(tree, directory));
        roots.push(directory);
    }
}

/// Why the directory is tested by pytest.
fn evidence(tree: &Tree<'_>, directory: &str) -> Option<String> {
    let has_section = |name: &str, section: &str| {
        tree.manifest(directory, name).is_some_and(|text| text.lines().any(|line| line.trim() == section))
    };
    if let Some(file) = ["pytest.ini", ".pytest.ini"].into_iter().find(|file| tree.has(&join(directory, file))) {
        return Some(format!("{file} is there"));
    }
    if pyproject(tree, directory).is_some_and(|file| file.get("tool").is_some_and(|tool| tool.get("pytest").is_some()))
    {
        return Some("pyproject.toml configures pytest".to_owned());
    }
    for (file, section) in [("setup.cfg", "[tool:pytest]"), ("tox.ini", "[pytest]")] {
        if has_section(file, section) {
            return Some(format!("{file} configures pytest"));
        }
    }
    let path = tree.below(directory).find(|path| is_test(path))?;
    Some(format!("{path} looks like a test for pytest"))
}

/// `conftest.py`, `test_x.py` or `x_test.py`, at the root of the project or in its test directory.
fn is_test(path: &str) -> bool {
    let (place, file) = path.rsplit_once('/').unwrap_or(("", path));
    let test_directory = matches!(place.split('/').next(), Some("" | "test" | "tests"));
    let test_name = file == "conftest.py" || file.starts_with("test_") || file.ends_with("_test.py");
    test_directory && test_name && file.ends_with(".py") && !place.contains("fixtures") && !place.contains("data")
}

/// Without pytest the interpreter would exit with 1, as for a failing test; 127 says what is the case.
/// Packages in `src` are found although nothing is installed.
fn command(tree: &Tree<'_>, directory: &str) -> String {
    let in_src = tree.below(&join(directory, "src")).any(|path| path.ends_with("/__init__.py"));
    let path = if in_src { "PYTHONPATH=src " } else { "" };
    format!("python3 -c 'import pytest' || exit 127; {path}python3 -m pytest")
}

fn pyproject(tree: &Tree<'_>, directory: &str) -> Option<Table> {
    tree.manifest(directory, "pyproject.toml")?.parse().ok()
}

/// What must be installed beside pytest itself, if anything.
fn install(tree: &Tree<'_>, directory: &str) -> Option<Setup> {
    let venv = "python3 -m venv .venv && .venv/bin/python -m pip install";
    let in_requirements = |file: &&str| {
        tree.manifest(directory, file).is_some_and(|text| text.lines().any(|line| names_package(line.trim())))
    };
    let requirements = REQUIREMENTS.into_iter().find(in_requirements);
    let (what, file) = match requirements {
        Some(file) => (format!("-r {file}"), file),
        None => ("-e .".to_owned(), manifest_with_dependencies(tree, directory)?),
    };
    Some(Setup {
        command: format!("{venv} {what} pytest"),
        directory: directory.to_owned(),
        why: format!("{} names packages from elsewhere", join(directory, file)),
        needs_network: true,
    })
}

fn manifest_with_dependencies(tree: &Tree<'_>, directory: &str) -> Option<&'static str> {
    if pyproject(tree, directory).is_some_and(|file| has_dependencies(&file)) {
        return Some("pyproject.toml");
    }
    let mentions = |file| tree.manifest(directory, file).is_some_and(|text| text.contains("install_requires"));
    ["setup.cfg", "setup.py"].into_iter().find(|&file| mentions(file))
}

fn has_dependencies(file: &Table) -> bool {
    let at = |path: &[&str]| {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(file.get(*first)?, |value, key| value.get(*key))
    };
    let listed = |list: Option<&Value>| {
        list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).any(names_package)
    };
    let tabled = |table: Option<&Value>| {
        let names = table.and_then(Value::as_table).into_iter().flatten().map(|(name, _)| name.as_str());
        names.into_iter().any(|name| name != "python" && names_package(name))
    };
    listed(at(&["project", "dependencies"]))
        || TEST_GROUPS.iter().any(|group| listed(at(&["project", "optional-dependencies", group])))
        || TEST_GROUPS.iter().any(|group| listed(at(&["dependency-groups", group])))
        || tabled(at(&["tool", "poetry", "dependencies"]))
        || TEST_GROUPS.iter().any(|group| tabled(at(&["tool", "poetry", "group", group, "dependencies"])))
}

/// Whether a requirement names a package other than pytest, which the check itself asks for.
fn names_package(requirement: &str) -> bool {
    let name: String = requirement.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).collect();
    !name.is_empty() && !requirement.starts_with(['#', '-']) && !name.eq_ignore_ascii_case("pytest")
}
