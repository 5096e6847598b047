//! A base tree as detection sees it: sorted text paths, bounded reading, directories worth a look.

use super::Files;

/// Manifests are read up to this size, in bytes.
const LARGEST_MANIFEST: usize = 1 << 20;
/// Lock files are longer.
pub(super) const LARGEST_LOCK: usize = 8 << 20;
/// Manifests of one kind beyond this many are not looked at.
const MOST_MANIFESTS: usize = 200;
/// Manifests deeper than this many directories are not looked at.
const DEEPEST: usize = 4;

/// Directories that hold samples, other people's code or products, not projects of their own.
const PASSED_OVER: [&str; 24] = [
    "__fixtures__",
    "__tests__",
    "build",
    "demo",
    "demos",
    "dist",
    "doc",
    "docs",
    "example",
    "examples",
    "fixture",
    "fixtures",
    "node_modules",
    "sample",
    "samples",
    "target",
    "template",
    "templates",
    "test",
    "testdata",
    "tests",
    "third_party",
    "vendor",
    "venv",
];

pub(super) struct Tree<'a> {
    files: &'a Files<'a>,
    /// Sorted; names that are not UTF-8 are no manifests.
    paths: Vec<&'a str>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(files: &'a Files<'a>) -> Self {
        let mut paths: Vec<&str> = files.paths.iter().filter_map(|path| std::str::from_utf8(path).ok()).collect();
        paths.sort_unstable();
        Self { files, paths }
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.paths.binary_search(&path).is_ok()
    }

    /// Whether there is any file below the directory.
    pub(super) fn has_directory(&self, directory: &str) -> bool {
        self.below(directory).next().is_some()
    }

    /// The files below a directory at any depth, by their path from there.
    pub(super) fn below(&self, directory: &str) -> impl Iterator<Item = &'a str> {
        let prefix = join(directory, "");
        let from = self.paths.partition_point(|path| *path < prefix.as_str());
        self.paths[from..].iter().map_while(move |path| path.strip_prefix(prefix.as_str()))
    }

    /// The directories with a file of this name that may be projects, outermost first; and whether
    /// there are more than are looked at.
    pub(super) fn directories_with(&self, name: &str) -> Vec<&'a str> {
        let found = self.paths.iter().filter_map(|path| directory_of(path, name)).filter(|dir| is_project(dir));
        let mut found: Vec<&str> = found.collect();
        found.sort_by_key(|dir| (depth(dir), *dir));
        found.truncate(MOST_MANIFESTS);
        found
    }

    /// A manifest's text; `None` if it is absent, too large or not UTF-8.
    pub(super) fn manifest(&self, directory: &str, name: &str) -> Option<String> {
        self.text(&join(directory, name), LARGEST_MANIFEST)
    }

    pub(super) fn text(&self, path: &str, largest: usize) -> Option<String> {
        String::from_utf8(self.bytes(path, largest)?).ok()
    }

    /// `None` also for a file that is larger.
    pub(super) fn bytes(&self, path: &str, largest: usize) -> Option<Vec<u8>> {
        let bytes = self.start(path, largest + 1)?;
        (bytes.len() <= largest).then_some(bytes)
    }

    pub(super) fn start(&self, path: &str, max: usize) -> Option<Vec<u8>> {
        if !self.has(path) {
            return None;
        }
        (self.files.read)(path.as_bytes(), max).map(|mut bytes| {
            bytes.truncate(max);
            bytes
        })
    }
}

/// `directory/name`, or just `name` at the root.
pub(super) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

/// The directory itself and those above it, innermost first, the root last.
pub(super) fn upwards(directory: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(directory), |dir| match dir.rsplit_once('/') {
        Some((above, _)) => Some(above),
        None => (!dir.is_empty()).then_some(""),
    })
}

/// Whether one directory is the other or below it.
pub(super) fn is_within(directory: &str, above: &str) -> bool {
    above.is_empty() || directory.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn directory_of<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    match path.rsplit_once('/') {
        Some((directory, file)) => (file == name).then_some(directory),
        None => (path == name).then_some(""),
    }
}

fn depth(directory: &str) -> usize {
    if directory.is_empty() { 0 } else { directory.split('/').count() }
}

fn is_project(directory: &str) -> bool {
    let passed_over = |part: &str| part.starts_with('.') || PASSED_OVER.contains(&part);
    depth(directory) <= DEEPEST && !directory.contains(char::is_control) && !directory.split('/').any(passed_over)
}
