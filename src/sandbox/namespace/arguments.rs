//! What a sandbox is made of, as the arguments of `bwrap`: an empty root to which only what is needed is added.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::etc;
use crate::sandbox::WORK;

/// The user and group number inside, whatever it is outside.
const INSIDE_ID: &str = "1000";
/// What the search path inside ends with.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Where *init* is seen inside.
pub(super) const INIT: &str = "/run/countersign/init";
/// Where the gateway's socket is seen inside.
pub(super) const GATEWAY: &str = "/run/countersign/gateway";

/// The tool chains of this machine as sandboxes see them.
#[derive(Debug, Clone, Default)]
pub(super) struct Tools {
    /// Directories to show, read-only, and where.
    pub(super) parts: Vec<(PathBuf, String)>,
    /// Links to make: what they say, and where they are.
    pub(super) links: Vec<(String, PathBuf)>,
}

/// The places and numbers that one sandbox is made of.
#[derive(Debug)]
pub(super) struct Layout<'a> {
    pub(super) init: &'a Path,
    pub(super) etc: &'a Path,
    pub(super) tree: &'a Path,
    pub(super) gateway: Option<&'a Path>,
    pub(super) tools: &'a Tools,
    /// Bytes that each of the temporary file systems may hold.
    pub(super) scratch: u64,
    /// Numbers of the descriptors that hold the filters.
    pub(super) filters: &'a [String],
}

impl Layout<'_> {
    /// The arguments, separated as `bwrap --args` reads them.
    pub(super) fn arguments(&self) -> Vec<u8> {
        let mut list = List::default();
        // No `--die-with-parent`: a `bwrap` that is killed while it starts leaves a child that waits for ever. What ends
        // a sandbox whose service is gone is *init*, to which the kernel closes the control socket.
        list.add(["--unshare-all", "--unshare-user", "--disable-userns", "--as-pid-1", "--new-session"]);
        list.add(["--cap-drop", "ALL", "--clearenv", "--hostname", "sandbox"]);
        list.add(["--uid", INSIDE_ID, "--gid", INSIDE_ID]);
        list.system();
        list.bind("--ro-bind", self.etc, "/etc");
        list.add(["--proc", "/proc", "--dev", "/dev"]);
        // How this machine was started is nobody's business.
        list.bind("--ro-bind", &self.etc.join(etc::EMPTY), "/proc/cmdline");
        for (mode, place) in [("1777", "/dev/shm"), ("1777", "/tmp"), ("0755", "/home/agent")] {
            list.add(["--perms", mode, "--size", &self.scratch.to_string(), "--tmpfs", place]);
        }
        list.add(["--symlink", "/tmp", "/var/tmp"]);
        for (place, inside) in &self.tools.parts {
            list.bind("--ro-bind", place, inside);
        }
        for (target, name) in &self.tools.links {
            list.add(["--symlink", target]);
            list.add_one(name.as_os_str());
        }
        list.bind("--ro-bind", self.init, INIT);
        if let Some(gateway) = self.gateway {
            list.bind("--ro-bind", gateway, GATEWAY);
        }
        list.bind("--bind", self.tree, WORK);
        // The two file systems that the above was put on were writable for the user until here.
        list.add(["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", WORK]);
        for number in self.filters {
            list.add(["--add-seccomp-fd", number]);
        }
        list.0
    }
}

#[derive(Default)]
struct List(Vec<u8>);

impl List {
    fn add<'a>(&mut self, arguments: impl IntoIterator<Item = &'a str>) {
        arguments.into_iter().for_each(|argument| self.add_one(argument.as_ref()));
    }

    fn bind(&mut self, how: &str, place: &Path, inside: &str) {
        self.add([how]);
        self.add_one(place.as_os_str());
        self.add([inside]);
    }

    fn add_one(&mut self, argument: &OsStr) {
        self.0.extend_from_slice(argument.as_bytes());
        self.0.push(0);
    }

    /// `/usr`, and the top-level names that are links into it on a merged system and directories on an old one.
    fn system(&mut self) {
        self.add(["--ro-bind", "/usr", "/usr"]);
        for name in ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"] {
            match fs::read_link(name) {
                Ok(target) => {
                    self.add(["--symlink"]);
                    self.add_one(target.as_os_str());
                    self.add([name]);
                }
                Err(_) => self.add(["--ro-bind-try", name, name]),
            }
        }
    }
}

/// The command line: the arguments come by descriptor, so that nothing of them shows in a process list.
pub(super) fn command_line(arguments: &str, control: &str) -> Vec<OsString> {
    ["--args", arguments, "--", INIT, control].into_iter().map(OsString::from).collect()
}

/// The environment of every command: where things are, and that nobody is there to answer questions.
pub(super) fn environment(tools: &Tools) -> BTreeMap<String, String> {
    let bins = tools.parts.iter().map(|(_, inside)| inside.as_str()).filter(|inside| inside.ends_with("/bin"));
    let path = bins.chain([SYSTEM_PATH]).collect::<Vec<_>>().join(":");
    [
        ("PATH", path.as_str()),
        ("HOME", "/home/agent"),
        ("USER", "agent"),
        ("LOGNAME", "agent"),
        ("SHELL", "/bin/sh"),
        ("TMPDIR", "/tmp"),
        ("LANG", "C.UTF-8"),
        ("TERM", "dumb"),
        ("CI", "true"),
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("DEBIAN_FRONTEND", "noninteractive"),
        ("npm_config_yes", "true"),
        ("CARGO_HOME", "/home/agent/.cargo"),
        ("CARGO_NET_OFFLINE", "true"),
        ("CARGO_TERM_COLOR", "never"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(tree: &Path) -> Vec<OsString> {
        let layout = Layout {
            init: Path::new("/d/init"),
            etc: Path::new("/d/etc"),
            tree,
            gateway: Some(Path::new("/d/socket")),
            tools: &Tools {
                parts: vec![(PathBuf::from("/d/rust/bin"), "/opt/toolchains/rust/bin".to_owned())],
                links: Vec::new(),
            },
            scratch: 1000,
            filters: &["9".to_owned()],
        };
        let bytes = layout.arguments();
        bytes.split(|byte| *byte == 0).map(|argument| OsStr::from_bytes(argument).to_owned()).collect()
    }

    #[test]
    fn the_tree_and_the_scratch_places_are_all_that_is_writable() {
        let arguments = arguments(Path::new("/data/tree"));
        let writable: Vec<_> = arguments.windows(3).filter(|w| w[0] == "--bind" || w[0] == "--dev-bind").collect();
        assert_eq!(writable, [["--bind", "/data/tree", WORK]]);
        let position = |wanted: &[&str]| arguments.windows(wanted.len()).position(|w| w == wanted);
        assert!(
            position(&["--remount-ro", "/"]) > position(&["--bind", "/data/tree", WORK]),
            "the root is closed last"
        );
    }

    #[test]
    fn neither_the_root_nor_a_home_is_shown() {
        let arguments = arguments(Path::new("/data/tree"));
        for shown in arguments.windows(3).filter(|w| w[0].to_string_lossy().contains("bind")) {
            assert!(
                shown[1] != "/" && shown[1] != "/etc" && !shown[1].to_string_lossy().starts_with("/home"),
                "{shown:?}"
            );
        }
    }

    #[test]
    fn a_path_that_is_not_text_arrives_as_it_is() {
        let tree = Path::new(OsStr::from_bytes(b"/data/\xff tree\n"));
        assert!(arguments(tree).iter().any(|argument| argument == tree.as_os_str()));
    }
}
