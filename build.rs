//! Builds *init*, the static program that is process 1 of every sandbox, for the service to carry along.

#![expect(clippy::disallowed_methods, reason = "a build script gets its settings and its compiler from cargo")]

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/init");
    let output = PathBuf::from(variable("OUT_DIR")).join("init");
    let mut rustc = Command::new(variable("RUSTC"));
    rustc
        .args(["--edition", "2024", "--crate-name", "init", "--crate-type", "bin", "-O"])
        .args(["-C", "target-feature=+crt-static", "-C", "panic=abort", "-C", "strip=symbols"])
        .args(["--target", &variable("TARGET")])
        .arg("-o")
        .arg(output)
        .arg("src/init/main.rs");
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg("-C").arg(format!("linker={linker}"));
    }
    let status = rustc.status().expect("rustc starts, since cargo has just named it");
    assert!(
        status.success(),
        "init was not built: it is linked statically, for which the C library's static form (Debian: libc6-dev) is needed"
    );
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}
