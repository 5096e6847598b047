//! Cargo packages and workspaces.

use toml::{Table, Value};

use super::tree::{LARGEST_LOCK, Tree, is_within, join};
use super::{Detected, Found, Setup};
use crate::cycle::checks::Kind;

pub(super) fn detect(tree: &Tree<'_>, detected: &mut Detected) {
    let mut roots: Vec<&str> = Vec::new();
    for directory in tree.directories_with("Cargo.toml") {
        if let Some(root) = roots.iter().find(|root| is_within(directory, root)) {
            let root = if root.is_empty() { "the root" } else { root };
            detected.why.push(format!("{directory}/Cargo.toml is left to the Cargo project at {root}."));
            continue;
        }
        match tree.manifest(directory, "Cargo.toml").and_then(|text| text.parse::<Table>().ok()) {
            Some(manifest) => project(tree, directory, &manifest, detected),
            None => detected.why.push(format!("{} cannot be read as TOML.", join(directory, "Cargo.toml"))),
        }
        roots.push(directory);
    }
}

fn project(tree: &Tree<'_>, directory: &str, manifest: &Table, detected: &mut Detected) {
    let workspace = manifest.contains_key("workspace");
    let all = if workspace { " --workspace" } else { "" };
    let what = if workspace { "a Cargo workspace" } else { "a Cargo package" };
    let found =
        |tool, kind, command: String, required, why: String| Found { tool, kind, command, directory, required, why };
    // Without --no-fail-fast the tests behind the first failing program would be unknown.
    let test = format!("cargo test{all} --offline --no-fail-fast");
    detected.add(found("cargo test", Kind::Test, test, true, format!("Cargo.toml describes {what}")));
    if let Some(file) = ["rustfmt.toml", ".rustfmt.toml"].into_iter().find(|file| tree.has(&join(directory, file))) {
        let command = "cargo fmt --all --check".to_owned();
        detected.add(found("cargo fmt", Kind::Lint, command, false, format!("{file} asks for a format")));
    }
    if let Some(place) = clippy_configuration(tree, directory, manifest) {
        let command = format!("cargo clippy{all} --all-targets --offline");
        detected.add(found("cargo clippy", Kind::Lint, command, false, format!("{place} configures clippy")));
    }
    if let Some(why) = needs_fetching(tree, directory) {
        let command = "cargo fetch".to_owned();
        detected.setup.push(Setup { command, directory: directory.to_owned(), why, needs_network: true });
    }
}

fn clippy_configuration(tree: &Tree<'_>, directory: &str, manifest: &Table) -> Option<&'static str> {
    let lints = |table: Option<&Value>| table.and_then(|t| t.get("lints")).is_some_and(|t| t.get("clippy").is_some());
    if lints(manifest.get("workspace")) || manifest.get("lints").is_some_and(|t| t.get("clippy").is_some()) {
        return Some("Cargo.toml");
    }
    ["clippy.toml", ".clippy.toml"].into_iter().find(|file| tree.has(&join(directory, file)))
}

/// Why packages must be fetched before anything can be built; `None` if everything is in the tree.
fn needs_fetching(tree: &Tree<'_>, directory: &str) -> Option<String> {
    if is_vendored(tree, directory) {
        return None;
    }
    let path = join(directory, "Cargo.lock");
    if !tree.has(&path) {
        return external_dependency(tree, directory);
    }
    let lock = tree.text(&path, LARGEST_LOCK).and_then(|text| text.parse::<Table>().ok());
    let Some(lock) = lock else { return Some(format!("{path} cannot be read")) };
    let packages = lock.get("package").and_then(Value::as_array).into_iter().flatten();
    let external = packages.filter(|package| package.get("source").is_some()).count();
    (external > 0).then(|| format!("{path} names {external} packages from elsewhere"))
}

/// Whether `.cargo/config.toml` replaces its sources by a directory of the tree.
fn is_vendored(tree: &Tree<'_>, directory: &str) -> bool {
    let read = |name| tree.manifest(&join(directory, ".cargo"), name)?.parse::<Table>().ok();
    let Some(config) = read("config.toml").or_else(|| read("config")) else { return false };
    let sources: Vec<&Value> =
        config.get("source").and_then(Value::as_table).into_iter().flatten().map(|s| s.1).collect();
    let replaced = sources.iter().any(|source| source.get("replace-with").is_some());
    let directories = sources.iter().filter_map(|source| source.get("directory")?.as_str());
    replaced && directories.into_iter().any(|vendored| tree.has_directory(&join(directory, vendored.trim_matches('/'))))
}

/// The first dependency in the manifests below the directory that is not a path in the repository.
fn external_dependency(tree: &Tree<'_>, directory: &str) -> Option<String> {
    let below = tree.directories_with("Cargo.toml").into_iter().filter(|package| is_within(package, directory));
    below.into_iter().find_map(|package| {
        let path = join(package, "Cargo.toml");
        let Some(manifest) = tree.manifest(package, "Cargo.toml").and_then(|text| text.parse::<Table>().ok()) else {
            return Some(format!("{path} cannot be read"));
        };
        external_in(&manifest).map(|name| format!("{path} depends on `{name}` and there is no Cargo.lock"))
    })
}

fn external_in(manifest: &Table) -> Option<String> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let workspace = manifest.get("workspace").and_then(Value::as_table);
    let tables = targets.filter_map(|(_, target)| target.as_table()).chain(workspace).chain([manifest]);
    let sections = ["dependencies", "dev-dependencies", "build-dependencies"];
    let mut dependencies =
        tables.flat_map(|table| sections.iter().filter_map(|key| table.get(*key)?.as_table())).flatten();
    let local = |value: &Value| value.get("path").is_some() || value.get("workspace").is_some();
    dependencies.find(|(_, value)| !local(value)).map(|(name, _)| name.chars().take(64).collect())
}
