//! Configuration: one TOML file, each key also as an environment variable `COUNTERSIGN_<SECTION>_<KEY>`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Everything that an operator sets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where the database, mirrors and work trees are.
    pub data: PathBuf,
    /// Where the pages are served: a loopback address, since there is no sign-in yet.
    pub listen: SocketAddr,
    /// How many runs are performed side by side, 1–64.
    pub slots: usize,
    /// The sandbox.
    pub sandbox: SandboxConfig,
    /// Who performs the roles unless a run says otherwise.
    pub agents: AgentsConfig,
    /// Addresses of providers that differ from the provider table's, by the provider's name.
    pub providers: BTreeMap<String, ProviderConfig>,
}

/// How sandboxes are made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxConfig {
    /// Whether no run may start while a limit cannot be enforced on this machine.
    pub strict: bool,
    /// The user that commands run as where the service is root.
    pub uid: u32,
    /// Memory of one sandbox in MiB.
    pub memory_mib: u64,
}

/// The agents of the roles.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentsConfig {
    /// Who writes.
    pub implementer: AgentConfig,
    /// Who reads.
    pub reviewer: AgentConfig,
}

/// One role's agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// Name in the provider table.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
}

/// Where a provider is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderConfig {
    /// Its base URL instead of the table's.
    pub base_url: Option<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data: PathBuf::from("countersign-data"),
            listen: SocketAddr::from(([127, 0, 0, 1], 7171)),
            slots: 2,
            sandbox: SandboxConfig::default(),
            agents: AgentsConfig::default(),
            providers: BTreeMap::new(),
        }
    }
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self { strict: false, uid: 61_357, memory_mib: 2048 }
    }
}

impl Default for AgentsConfig {
    fn default() -> Self {
        let agent = |model: &str| AgentConfig { provider: "anthropic".to_owned(), model: model.to_owned() };
        Self { implementer: agent("claude-sonnet-4-5"), reviewer: agent("claude-opus-4-5") }
    }
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is not there or cannot be read.
    #[error("the configuration {} cannot be read", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not valid.
    #[error("the configuration {} is not valid: {message}", path.display())]
    Invalid {
        /// Which file.
        path: PathBuf,
        /// Where and what, and what would be right.
        message: String,
    },
    /// A value is out of range.
    #[error("{key}: {why}")]
    Range {
        /// The key.
        key: &'static str,
        /// What would be right.
        why: &'static str,
    },
    /// An environment variable of ours that no key stands behind.
    #[error("{name} is set, but there is no such setting{hint}")]
    UnknownVariable {
        /// The variable.
        name: String,
        /// The nearest known one, if any is near.
        hint: String,
    },
}

/// The variables that stand beside keys of the file.
const VARIABLES: &[&str] =
    &["COUNTERSIGN_DATA", "COUNTERSIGN_LISTEN", "COUNTERSIGN_SLOTS", "COUNTERSIGN_SANDBOX_STRICT"];

impl Config {
    /// Reads the file, if one is given, and then the environment, which wins.
    ///
    /// # Errors
    /// [`Error`], naming the key and what would be right.
    pub fn load(file: Option<&Path>) -> Result<Self, Error> {
        let config = file.map_or_else(|| Ok(Self::default()), read)?;
        let ours = environment().filter(|(name, _)| name.starts_with("COUNTERSIGN_"));
        let config = ours.into_iter().try_fold(config, |c, (name, value)| c.with_variable(&name, &value))?;
        config.check()
    }

    fn with_variable(mut self, name: &str, value: &str) -> Result<Self, Error> {
        let range = |key, why| Error::Range { key, why };
        match name {
            "COUNTERSIGN_DATA" => self.data = PathBuf::from(value),
            "COUNTERSIGN_LISTEN" => {
                self.listen =
                    value.parse().map_err(|_| range("COUNTERSIGN_LISTEN", "an address like 127.0.0.1:7171"))?;
            }
            "COUNTERSIGN_SLOTS" => {
                self.slots = value.parse().map_err(|_| range("COUNTERSIGN_SLOTS", "a whole number from 1 to 64"))?;
            }
            "COUNTERSIGN_SANDBOX_STRICT" => {
                self.sandbox.strict =
                    value.parse().map_err(|_| range("COUNTERSIGN_SANDBOX_STRICT", "either true or false"))?;
            }
            _ => return Err(Error::UnknownVariable { name: name.to_owned(), hint: nearest(name) }),
        }
        Ok(self)
    }

    fn check(self) -> Result<Self, Error> {
        if !self.listen.ip().is_loopback() {
            let why = "must be a loopback address such as 127.0.0.1:7171, since there is no sign-in yet";
            return Err(Error::Range { key: "listen", why });
        }
        if !(1..=64).contains(&self.slots) {
            return Err(Error::Range { key: "slots", why: "must be a whole number from 1 to 64" });
        }
        if !(64..=1_048_576).contains(&self.sandbox.memory_mib) {
            return Err(Error::Range { key: "sandbox.memory_mib", why: "must be from 64 to 1048576" });
        }
        if self.sandbox.uid == 0 {
            return Err(Error::Range { key: "sandbox.uid", why: "must not be root's" });
        }
        Ok(self)
    }
}

fn read(path: &Path) -> Result<Config, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
    toml::from_str(&text).map_err(|e| Error::Invalid { path: path.to_owned(), message: e.to_string() })
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
}

/// The value of a variable that holds a secret: a provider's key.
#[must_use]
pub fn secret_variable(name: &str) -> Option<String> {
    environment().find(|(n, v)| n == name && !v.is_empty()).map(|(_, v)| v)
}

fn nearest(name: &str) -> String {
    let near = VARIABLES.iter().min_by_key(|known| distance(known, name)).filter(|known| distance(known, name) <= 6);
    near.map_or_else(String::new, |known| format!("; did you mean {known}?"))
}

/// Levenshtein distance over bytes.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let change = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_variable_names_the_nearest_known_one() {
        let refused = Config::default().with_variable("COUNTERSIGN_LISTN", "x").unwrap_err();
        assert!(refused.to_string().contains("did you mean COUNTERSIGN_LISTEN?"), "{refused}");
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_the_known_ones() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("countersign.toml");
        std::fs::write(&file, "slot = 3\n").unwrap();
        let refused = read(&file).unwrap_err().to_string();
        assert!(refused.contains("slot") && refused.contains("slots"), "{refused}");
    }

    #[test]
    fn only_loopback_is_served_while_there_is_no_sign_in() {
        for (address, good) in
            [("127.0.0.1:80", true), ("[::1]:80", true), ("0.0.0.0:80", false), ("10.0.0.1:80", false)]
        {
            let config = Config { listen: address.parse().unwrap(), ..Config::default() };
            assert_eq!(config.check().is_ok(), good, "{address}");
        }
    }
}
