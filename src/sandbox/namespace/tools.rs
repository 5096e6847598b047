//! The tool chains of this machine that live outside `/usr`, found as the service's own user would use them.
//!
//! What is shown to a sandbox is the tool chain itself, never a directory around it: not `~/.cargo`, where
//! credentials are, and not the shims of a version switcher, which would need its whole home.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The parts of a tool chain that programs need; manuals and whatever else lies there stay outside.
pub(super) const PARTS: [&str; 4] = ["bin", "lib", "libexec", "include"];

/// Where tool chains are seen inside.
const INSIDE: &str = "/opt/toolchains";

/// A tool chain: a directory with [`PARTS`] in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolChain {
    /// Its name inside, below [`INSIDE`].
    pub(super) name: &'static str,
    /// Where it is on this machine.
    pub(super) root: PathBuf,
}

impl ToolChain {
    /// Where it is seen inside.
    pub(super) fn inside(&self) -> String {
        format!("{INSIDE}/{}", self.name)
    }

    /// Whether it must be seen under its own path as well: a Python has that built into its library's search path and
    /// into the first line of every script that was installed for it. Not where something else is inside.
    pub(super) fn needs_own_place(&self) -> bool {
        const TAKEN: [&str; 9] =
            ["/usr", "/etc", "/proc", "/dev", "/tmp", "/var/tmp", "/run", "/home/agent", super::super::WORK];
        self.name == "python" && !TAKEN.iter().any(|place| self.root.starts_with(place))
    }
}

/// How a tool chain is asked where it is: a program, and arguments that make it print its root.
struct Question {
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
}

const QUESTIONS: [Question; 3] = [
    Question { name: "rust", program: "rustc", arguments: &["--print", "sysroot"] },
    Question {
        name: "node",
        program: "node",
        arguments: &[
            "-p",
            "require('path').dirname(require('path').dirname(require('fs').realpathSync(process.execPath)))",
        ],
    },
    Question { name: "python", program: "python3", arguments: &["-I", "-c", "import sys; print(sys.base_prefix)"] },
];

/// The tool chains that the service's own `PATH` leads to and that `/usr` does not hold. Blocks while they are asked.
pub(super) fn find() -> Vec<ToolChain> {
    let home = env::home_dir();
    let answers = std::thread::scope(|scope| {
        let asked = QUESTIONS.map(|question| scope.spawn(move || (question.name, ask(&question))));
        asked.map(|answer| answer.join().ok())
    });
    let answers = answers.into_iter().flatten();
    answers
        .filter_map(|(name, answer)| {
            let root = fs::canonicalize(answer?).ok()?;
            is_own_directory(&root, home.as_deref()).then_some(ToolChain { name, root })
        })
        .collect()
}

#[expect(clippy::disallowed_methods, reason = "what is to be shown in sandboxes is looked for outside of them")]
fn ask(question: &Question) -> Option<PathBuf> {
    // From the root directory: a project's own choice of tool chain (`rust-toolchain`, `.python-version`) is not asked.
    let answer = Command::new(question.program)
        .args(question.arguments)
        .current_dir("/")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let line = answer.stdout.strip_suffix(b"\n").unwrap_or(&answer.stdout);
    (answer.status.success() && !line.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(line)))
}

/// Whether the directory is a tool chain's and nothing else's: not part of the system, which is shown anyway, and not
/// a home or `~/.local`, of which a tool chain is only a part.
fn is_own_directory(root: &Path, home: Option<&Path>) -> bool {
    let shared = ["/usr", "/bin", "/lib", "/lib64", "/sbin"].iter().any(|system| root.starts_with(system))
        || ["/", "/opt", "/home", "/srv", "/var"].iter().any(|place| root == Path::new(place))
        || root.file_name() == Some(OsStr::new(".local"))
        || home.is_some_and(|home| home.starts_with(root));
    !shared && root.join("bin").is_dir()
}

/// Copies the parts of a tool chain to `target`, readable for everyone: where mounts are refused. A copy that is
/// complete and of the same root is left as it is. Blocks, for about a second per gigabyte.
pub(super) fn copy(chain: &ToolChain, target: &Path) -> io::Result<()> {
    let stamp = target.join("copied-from");
    let wanted = chain.root.as_os_str().as_bytes();
    if fs::read(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    if target.exists() {
        fs::remove_dir_all(target)?;
    }
    fs::create_dir_all(target)?;
    for part in PARTS.iter().filter(|part| chain.root.join(part).is_dir()) {
        copy_directory(&chain.root.join(part), &target.join(part))?;
    }
    fs::write(stamp, wanted)
}

fn copy_directory(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, source, target) = (entry.file_type()?, entry.path(), to.join(entry.file_name()));
        if kind.is_dir() {
            copy_directory(&source, &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, target)?;
        } else if kind.is_file() {
            fs::copy(source, target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_home_or_a_part_of_the_system_is_not_a_tool_chain() {
        let home = Some(Path::new("/home/alice"));
        for root in ["/", "/usr", "/usr/local", "/opt", "/home", "/home/alice", "/home/alice/.local"] {
            assert!(!is_own_directory(Path::new(root), home), "{root}");
        }
    }

    #[test]
    fn a_copy_holds_the_parts_and_nothing_else() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("chain");
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::create_dir_all(root.join("secrets")).unwrap();
        fs::write(root.join("bin/tool"), "#!/bin/sh\n").unwrap();
        std::os::unix::fs::symlink("tool", root.join("bin/alias")).unwrap();
        fs::write(root.join("secrets/token"), "x").unwrap();
        let (chain, target) = (ToolChain { name: "rust", root }, scratch.path().join("copy"));
        copy(&chain, &target).unwrap();
        assert_eq!(fs::read(target.join("bin/alias")).unwrap(), b"#!/bin/sh\n");
        assert!(!target.join("secrets").exists());
        fs::write(target.join("bin/tool"), "kept").unwrap();
        copy(&chain, &target).unwrap();
        assert_eq!(fs::read(target.join("bin/tool")).unwrap(), b"kept", "a complete copy is not made again");
    }
}
