//! The shape of the code, held by reading it: which module may know which, and where a few words may stand.
//!
//! Each rule carries texts that it must refuse and texts that it must let pass, so no rule is one that cannot fail.

mod source;

use std::collections::BTreeSet;

use source::{Source, read_all, words};

/// Which top-level module may name which. The crate's roots may name all: they wire the adapters together.
const EDGES: &[(&str, &[&str])] = &[
    ("cycle", &[]),
    ("clock", &[]),
    ("config", &["nearest"]),
    ("telemetry", &["config"]),
    ("store", &["clock", "cycle"]),
    // Ports: the core's words and the time, and of each other only what is said here.
    ("sandbox", &["clock", "cycle"]),
    ("git", &["clock", "cycle", "hidden"]),
    ("gateway", &["clock", "connections", "cycle"]),
    ("forge", &["clock", "cycle", "hidden"]),
    ("checks", &["clock", "cycle", "nearest", "sandbox"]),
    ("agent", &["clock", "cycle", "gateway", "sandbox"]),
    (
        "app",
        &[
            "agent",
            "checks",
            "clock",
            "config",
            "cycle",
            "forge",
            "gateway",
            "git",
            "hidden",
            "run_repository",
            "sandbox",
            "store",
        ],
    ),
    (
        "runner",
        &[
            "agent",
            "checks",
            "clock",
            "config",
            "cycle",
            "forge",
            "gateway",
            "git",
            "run_repository",
            "sandbox",
            "store",
        ],
    ),
    // A run's repository, which another node may have made: git with what the store kept.
    ("run_repository", &["cycle", "git", "store"]),
    // The pages ask `app` and read `store`; they never touch what performs runs.
    ("web", &["app", "clock", "config", "connections", "cycle", "hidden", "store"]),
    // The model's stand-in speaks the providers' wire format and knows nothing of runs.
    ("model_server", &["gateway"]),
    ("demo", &["app", "clock", "config", "cycle", "model_server", "service", "store"]),
    // Puts everything together: the one module that names every adapter.
    ("service", &["app", "config", "cycle", "gateway", "run_repository", "runner", "sandbox", "store", "web"]),
    // Connections, and how long one may take: for whoever serves HTTP.
    ("connections", &[]),
    // Characters that nobody can see, made visible: for whoever shows text from outside.
    ("hidden", &[]),
    // The known name that was meant by an unknown one: for whoever refuses a setting.
    ("nearest", &[]),
];

/// A program of its own, built without this crate: its `crate::` is another one.
const INIT: &str = "init";

/// Files without their tests are split before they are longer.
const LONGEST: usize = 400;

/// A rule about one file: what it finds wrong there.
struct Rule {
    promise: &'static str,
    offences: fn(&Source) -> Vec<String>,
    /// Made-up files that must be refused.
    refuses: &'static [(&'static str, &'static str)],
    /// Made-up files that must pass.
    allows: &'static [(&'static str, &'static str)],
}

const RULES: &[Rule] = &[
    Rule {
        promise: "modules name only the modules that the edge table gives them",
        offences: crossed_edges,
        refuses: &[
            ("src/cycle/plan.rs", "use crate::store::Store;"),
            ("src/web/pages/run.rs", "use crate::{app::App, runner::Slots};"),
            ("src/git/mod.rs", "fn f() { crate::sandbox::start(); }"),
            ("src/git/push.rs", "use super::super::sandbox::Spec;"),
            ("src/new_module.rs", "use crate::cycle::run::Run;"),
        ],
        allows: &[
            ("src/cycle/plan.rs", "use crate::cycle::run::Run; use super::step::Step; // crate::store"),
            ("src/web/pages/run.rs", "use crate::{app::{App, runner}, store::Store};"),
            ("src/checks/run.rs", "use crate::sandbox::Spec; const S: &str = \"crate::git::x\";"),
            ("src/git/mod.rs", "#[cfg(test)]\nmod tests { use crate::sandbox::Spec; }"),
            ("src/main.rs", "use crate::runner::Slots;"),
        ],
    },
    Rule {
        promise: "the core needs std, serde, serde_json and uuid only, waits for nothing and iterates in a fixed order",
        offences: impure_core,
        refuses: &[
            ("src/cycle/plan.rs", "pub async fn plan() {}"),
            ("src/cycle/plan.rs", "let t = std::time::Instant::now();"),
            ("src/cycle/ledger.rs", "use std::collections::HashMap;"),
            ("src/cycle/ledger.rs", "#[derive(thiserror::Error)] enum E {}"),
            ("src/cycle/say.rs", "use tokio_util::sync::CancellationToken;"),
        ],
        allows: &[
            ("src/cycle/plan.rs", "/// Never async.\nuse std::time::Duration; use serde::Serialize;"),
            ("src/runner/drive.rs", "async fn drive() { tokio::task::yield_now().await }"),
        ],
    },
    Rule {
        promise: "SQL is only in store, git2 only in git, axum only where HTTP is served, and there with time limits",
        offences: strayed_crates,
        refuses: &[
            ("src/web/live.rs", "use sqlx::Row;"),
            ("src/runner/drive.rs", "git2::Repository::open(path)"),
            ("src/app/mod.rs", "use axum as http;"),
            ("src/web/mod.rs", "axum::serve(listener, router(desk))"),
        ],
        allows: &[
            ("src/store/mod.rs", "use sqlx::Row;"),
            ("src/git/mirror.rs", "use git2::Repository;"),
            ("src/gateway/routes.rs", "use axum::Router;"),
            ("src/app/mod.rs", "/// As `axum::Router` does it.\nfn f() {}"),
        ],
    },
    Rule {
        promise: "unsafe code is in two files",
        offences: unsafe_code,
        refuses: &[
            ("src/gateway/mod.rs", "fn f() { unsafe { g() } }"),
            ("src/store/mod.rs", "#[cfg(test)]\nmod tests { unsafe fn f() {} }"),
        ],
        allows: &[
            ("src/sandbox/spawn.rs", "unsafe { g() }"),
            ("src/init/sys.rs", "unsafe { g() }"),
            ("src/git/mod.rs", "#[expect(unsafe_code, reason = \"unsafe\")] fn f() {}"),
        ],
    },
    Rule {
        promise: "nothing but the provider table, the model server and the label on the pages knows what is scripted",
        offences: knows_the_script,
        refuses: &[
            ("src/runner/drive.rs", "if provider == \"scripted\" {}"),
            ("src/demo/mod.rs", "/// The Scripted stories."),
            ("templates/briefs/review.md", "This model is scripted."),
        ],
        allows: &[
            ("src/gateway/providers.rs", "name: \"scripted\""),
            ("src/model_server/mod.rs", "//! The scripted model."),
            ("templates/pages/run.html", "<span>scripted</span>"),
            ("src/demo/mod.rs", "let description = 1;"),
        ],
    },
    Rule {
        promise: "git's credential helpers are never asked",
        offences: |s| {
            found(s.text.to_lowercase().contains(concat!("credential_", "helper")), "asks a credential helper")
        },
        refuses: &[("src/git/push.rs", concat!("git2::Cred::credential_", "helper(&config, url, None)"))],
        allows: &[("src/git/push.rs", "git2::Cred::userpass_plaintext(user, token)")],
    },
    Rule {
        promise: "what ships has no hooks for tests",
        offences: test_hooks,
        refuses: &[
            ("src/store/mod.rs", "#[cfg(test)]\npub fn forget(&self) {}"),
            ("src/store/mod.rs", "if cfg!(test) { return; }"),
            ("src/store/mod.rs", "#[cfg(not(test))]\nconst WAIT: u64 = 5;"),
            ("src/store/mod.rs", "#[cfg_attr(test, derive(Clone))]\nstruct S;"),
        ],
        allows: &[
            (
                "src/store/mod.rs",
                "#[cfg(test)]\n#[expect(clippy::unwrap_used, reason = \"tests\")]\nmod tests { fn f() {} }",
            ),
            ("src/store/mod.rs", "#[cfg(test)]\nmod tests;"),
            ("src/store/mod.rs", "#[cfg(unix)]\nfn test() {}"),
        ],
    },
];

#[test]
fn the_sources_keep_every_rule() {
    let sources = read_all(&["src", "templates"]);
    assert!(sources.iter().any(|s| s.path == "src/cycle/mod.rs"), "the sources were not found");
    let offences: Vec<String> = RULES.iter().flat_map(|rule| sources.iter().flat_map(|s| refusals(rule, s))).collect();
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn every_rule_refuses_what_it_is_for_and_nothing_else() {
    for rule in RULES {
        for (path, text) in rule.refuses {
            assert!(!refusals(rule, &Source::new(path, text)).is_empty(), "{}: {path} passed: {text}", rule.promise);
        }
        for (path, text) in rule.allows {
            assert_eq!(refusals(rule, &Source::new(path, text)), [""; 0], "{path}: {text}");
        }
    }
}

#[test]
fn no_file_is_longer_than_can_be_read() {
    let sources = read_all(&["src"]);
    let long: Vec<String> = sources.iter().filter_map(too_long).collect();
    assert!(long.is_empty(), "{}", long.join("\n"));

    let body = "fn f() {}\n".repeat(LONGEST + 1);
    assert!(too_long(&Source::new("src/git/mod.rs", &body)).is_some());
    let tests = format!("#[cfg(test)]\nmod tests {{\n{body}}}\n");
    assert!(too_long(&Source::new("src/git/mod.rs", &tests)).is_none());
}

#[test]
fn every_top_level_module_stands_in_the_edge_table() {
    let known: BTreeSet<&str> = EDGES.iter().map(|(module, _)| *module).chain([INIT, ""]).collect();
    for source in read_all(&["src"]).iter().filter(|s| s.path.ends_with(".rs")) {
        assert!(known.contains(source.module()), "{}: its module has no line in EDGES", source.path);
    }
}

fn refusals(rule: &Rule, source: &Source) -> Vec<String> {
    (rule.offences)(source).into_iter().map(|what| format!("{}: {what} ({})", source.path, rule.promise)).collect()
}

fn found(is: bool, what: &str) -> Vec<String> {
    is.then(|| what.to_owned()).into_iter().collect()
}

fn crossed_edges(source: &Source) -> Vec<String> {
    let module = source.module();
    if module.is_empty() || module == INIT {
        return Vec::new();
    }
    let allowed = EDGES.iter().find(|(m, _)| *m == module).map_or(&[][..], |(_, to)| *to);
    let crossed = source.names_modules().into_iter().filter(|to| {
        let is_module = EDGES.iter().any(|(m, _)| m == to);
        is_module && to != module && !allowed.contains(&to.as_str())
    });
    crossed.map(|to| format!("names {to}")).collect()
}

fn impure_core(source: &Source) -> Vec<String> {
    if source.module() != "cycle" {
        return Vec::new();
    }
    let words: BTreeSet<&str> = words(&source.shipped).collect();
    let barred = ["async", "await", "Instant", "SystemTime", "HashMap", "HashSet", "fs", "net", "thread"];
    let crates = dependencies().into_iter().filter(|c| !["serde", "serde_json", "uuid"].contains(&c.as_str()));
    barred.map(str::to_owned).into_iter().chain(crates).filter(|w| words.contains(w.as_str())).collect()
}

/// The names of the crates that `Cargo.toml` lists, as code spells them.
fn dependencies() -> Vec<String> {
    let manifest = include_str!("../../Cargo.toml").lines();
    let listed = manifest.skip_while(|l| *l != "[dependencies]").skip(1).take_while(|l| !l.starts_with('['));
    listed.filter_map(|l| l.split_once(" = ")).map(|(name, _)| name.replace('-', "_")).collect()
}

fn strayed_crates(source: &Source) -> Vec<String> {
    let homes: [(&str, &[&str]); 5] = [
        ("sqlx", &["store"]),
        ("git2", &["git"]),
        ("axum", &["web", "gateway", "model_server", "connections"]),
        ("hyper", &["connections"]),
        ("hyper_util", &["connections"]),
    ];
    let strayed = homes.into_iter().filter(|(name, homes)| source.says(name) && !homes.contains(&source.module()));
    // It has no time limits, which is well for the model's stand-in only.
    let unlimited = source.shipped.contains("axum::serve(") && source.module() != "model_server";
    let unlimited = unlimited.then_some("axum::serve");
    strayed.map(|(name, _)| name).chain(unlimited).map(|name| format!("uses {name}")).collect()
}

fn unsafe_code(source: &Source) -> Vec<String> {
    let home = ["src/sandbox/spawn.rs", "src/init/sys.rs"].contains(&source.path.as_str());
    found(!home && words(&source.code).any(|w| w == "unsafe"), "has unsafe code")
}

fn knows_the_script(source: &Source) -> Vec<String> {
    let home = source.path == "src/gateway/providers.rs"
        || ["src/model_server/", "templates/pages/", "templates/parts/"].iter().any(|d| source.path.starts_with(d));
    found(!home && source.text.to_lowercase().contains("scripted"), "says `scripted`")
}

fn test_hooks(source: &Source) -> Vec<String> {
    let conditions = source.shipped.match_indices("cfg").filter_map(|(at, _)| {
        let rest = &source.shipped[at..];
        Some(&rest[rest.find('(')?..rest.find([']', ';', '{'])?]).filter(|c| words(c).any(|w| w == "test"))
    });
    let plain = |c: &str| c.split_whitespace().collect::<Vec<_>>().join(" ");
    conditions.map(|c| format!("is compiled differently for tests: cfg{}", plain(c))).collect()
}

fn too_long(source: &Source) -> Option<String> {
    let lines = source.shipped.lines().count();
    (source.path.ends_with(".rs") && lines > LONGEST).then(|| format!("{}: {lines} lines, split it", source.path))
}
