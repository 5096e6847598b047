//! Scripts of `package.json`, run by the package manager that the repository uses.

use std::collections::BTreeMap;

use serde_json::Value;

use super::tree::{Tree, is_within, join, upwards};
use super::{Detected, Found, Setup};
use crate::cycle::checks::Kind;

/// The scripts that are looked for, in this order; the first of a kind is taken.
const SCRIPTS: [(&str, Kind, bool); 6] = [
    ("build", Kind::Build, true),
    ("typecheck", Kind::Typecheck, true),
    ("type-check", Kind::Typecheck, true),
    ("check-types", Kind::Typecheck, true),
    ("lint", Kind::Lint, false),
    ("test", Kind::Test, true),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Manager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

const LOCKS: [(&str, Manager); 6] = [
    ("pnpm-lock.yaml", Manager::Pnpm),
    ("yarn.lock", Manager::Yarn),
    ("bun.lock", Manager::Bun),
    ("bun.lockb", Manager::Bun),
    ("package-lock.json", Manager::Npm),
    ("npm-shrinkwrap.json", Manager::Npm),
];

/// Who runs a package's scripts, where its packages are installed from, and why we think so.
#[derive(Debug, Clone)]
struct Managed {
    manager: Manager,
    root: String,
    lock: Option<&'static str>,
    why: String,
}

/// Every readable `package.json`, by its directory.
struct Packages<'a> {
    tree: &'a Tree<'a>,
    manifests: BTreeMap<&'a str, Value>,
}

pub(super) fn detect(tree: &Tree<'_>, detected: &mut Detected) {
    let mut manifests = BTreeMap::new();
    for directory in tree.directories_with("package.json") {
        let text = tree.manifest(directory, "package.json");
        match text.and_then(|text| serde_json::from_str::<Value>(&text).ok()).filter(Value::is_object) {
            Some(manifest) => {
                manifests.insert(directory, manifest);
            }
            None => detected.why.push(format!("{} cannot be read as JSON.", join(directory, "package.json"))),
        }
    }
    let packages = Packages { tree, manifests };
    let mut roots = BTreeMap::new();
    for directory in packages.manifests.keys() {
        let managed = packages.managed(directory);
        if packages.add_scripts(directory, &managed, detected) {
            roots.insert(managed.root.clone(), managed);
        }
    }
    detected.setup.extend(roots.values().filter_map(|managed| packages.install(managed)));
}

impl Packages<'_> {
    /// Adds a package's scripts and says whether there were any; a script that a package above has too
    /// is left to that one.
    fn add_scripts(&self, directory: &str, managed: &Managed, detected: &mut Detected) -> bool {
        let mut kinds = Vec::new();
        for (script, kind, required) in SCRIPTS {
            let has = |at: &&str| self.manifests.get(at).is_some_and(|manifest| has_script(manifest, script));
            if !has(&directory) || kinds.contains(&kind) {
                continue;
            }
            if let Some(above) = upwards(directory).skip(1).find(has) {
                let above = join(above, "package.json");
                detected.why.push(format!("`{script}` in {directory} is left to the `{script}` of {above}."));
                continue;
            }
            kinds.push(kind);
            let command = managed.manager.run(script);
            let tool = format!("{} {script}", managed.manager.word());
            let why = format!("package.json has the script `{script}`, and {}", managed.why);
            detected.add(Found { tool: &tool, kind, command, directory, required, why });
        }
        !kinds.is_empty()
    }

    /// Looks from the package to the root for a declared manager first, then for a lock file.
    fn managed(&self, directory: &str) -> Managed {
        let (tree, packages) = (self.tree, &self.manifests);
        let lock_at = |at: &str| LOCKS.into_iter().find(|(lock, _)| tree.has(&join(at, lock)));
        let locked = upwards(directory).find_map(|at| lock_at(at).map(|(lock, manager)| (at, lock, manager)));
        let declared = upwards(directory).find_map(|at| Some((at, declared(packages.get(at)?)?)));
        // Without a lock file packages are installed where the outermost package is.
        let outermost = upwards(directory).filter(|at| packages.contains_key(at)).last().unwrap_or(directory);
        match (declared, locked) {
            (Some((at, manager)), locked) => {
                let mine = upwards(directory).find_map(|at| {
                    let of_mine = |(lock, of): &(&str, Manager)| *of == manager && tree.has(&join(at, lock));
                    LOCKS.into_iter().find(of_mine).map(|(lock, _)| (at, lock))
                });
                let other =
                    locked.filter(|_| mine.is_none()).map(|(_, lock, _)| format!(" ({lock} is of another one)"));
                let why =
                    format!("{} declares {}{}", join(at, "package.json"), manager.word(), other.unwrap_or_default());
                let root = mine.map_or(outermost, |(at, _)| at).to_owned();
                Managed { manager, root, lock: mine.map(|(_, lock)| lock), why }
            }
            (None, Some((at, lock, manager))) => {
                let why = format!("{} is the lock file of {}", join(at, lock), manager.word());
                Managed { manager, root: at.to_owned(), lock: Some(lock), why }
            }
            (None, None) => {
                let why = "there is no lock file, so npm runs it".to_owned();
                Managed { manager: Manager::Npm, root: outermost.to_owned(), lock: None, why }
            }
        }
    }

    /// What must be installed for the packages below the manager's root, if anything.
    fn install(&self, managed: &Managed) -> Option<Setup> {
        let root = &managed.root;
        if self.tree.has_directory(&join(root, "node_modules")) || self.tree.has(&join(root, ".pnp.cjs")) {
            return None;
        }
        let below: Vec<&Value> = self
            .manifests
            .iter()
            .filter(|(directory, _)| is_within(directory, root))
            .map(|(_, manifest)| manifest)
            .collect();
        let names: Vec<&str> = below.iter().filter_map(|manifest| manifest.get("name")?.as_str()).collect();
        let dependencies: Vec<(&str, &str)> = below.iter().flat_map(|manifest| dependencies(manifest)).collect();
        let external = dependencies.iter().filter(|(name, from)| !is_local(from) && !names.contains(name)).count();
        if dependencies.is_empty() {
            return None;
        }
        let why = match external {
            0 => "its packages depend on each other".to_owned(),
            1 => "package.json names 1 package from elsewhere".to_owned(),
            n => format!("package.json names {n} packages from elsewhere"),
        };
        let needs_network = external > 0;
        let command = managed.manager.install(managed.lock.is_some(), needs_network);
        Some(Setup { command, directory: root.clone(), why, needs_network })
    }
}

/// Names and version specifiers.
fn dependencies(manifest: &Value) -> impl Iterator<Item = (&str, &str)> {
    let tables = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
    let tables = tables.into_iter().filter_map(|table| manifest.get(table)?.as_object());
    tables.flatten().map(|(name, from)| (name.as_str(), from.as_str().unwrap_or_default()))
}

fn has_script(manifest: &Value, script: &str) -> bool {
    let command = manifest.get("scripts").and_then(|scripts| scripts.get(script)).and_then(Value::as_str);
    // What `npm init` writes is no test.
    command.is_some_and(|command| !command.trim().is_empty() && !command.contains("no test specified"))
}

/// `"packageManager": "pnpm@9.1.0"`.
fn declared(manifest: &Value) -> Option<Manager> {
    let text = manifest.get("packageManager")?.as_str()?;
    let all = [Manager::Npm, Manager::Pnpm, Manager::Yarn, Manager::Bun];
    all.into_iter().find(|manager| text.split('@').next() == Some(manager.word()))
}

fn is_local(specifier: &str) -> bool {
    ["file:", "link:", "workspace:", "portal:"].iter().any(|protocol| specifier.starts_with(protocol))
}

impl Manager {
    const fn word(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn => "yarn",
            Self::Bun => "bun",
        }
    }

    fn run(self, script: &str) -> String {
        match (self, script) {
            (Self::Npm, "test") => "npm test".to_owned(),
            (Self::Npm | Self::Pnpm | Self::Yarn | Self::Bun, _) => format!("{} run {script}", self.word()),
        }
    }

    fn install(self, locked: bool, network: bool) -> String {
        let words = match (self, locked) {
            (Self::Npm, true) => "npm ci",
            (Self::Npm, false) => "npm install",
            (Self::Pnpm | Self::Bun, true) => "install --frozen-lockfile",
            (Self::Yarn, true) => "install --immutable",
            (Self::Pnpm | Self::Yarn | Self::Bun, false) => "install",
        };
        let words = if self == Self::Npm { words.to_owned() } else { format!("{} {words}", self.word()) };
        let offline = !network && matches!(self, Self::Npm | Self::Pnpm);
        if offline { format!("{words} --offline") } else { words }
    }
}
