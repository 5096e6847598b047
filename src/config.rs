//! Configuration: one TOML file, each key also as an environment variable `COUNTERSIGN_<SECTION>_<KEY>`.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::{Table, Value};

use crate::nearest::nearest;

/// Everything that an operator sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where the database, mirrors and work trees are; absolute once it is read.
    pub data: PathBuf,
    /// The PostgreSQL server that several processes share; without one the database is a file in the data directory.
    pub database: Option<Secret>,
    /// Where the pages are served: a loopback address, since there is no sign-in yet.
    pub listen: SocketAddr,
    /// How many runs are performed side by side, 1–64.
    pub slots: usize,
    /// How long a node that falls silent keeps its runs from the others, 2–300 s.
    pub lease: Duration,
    /// The sandbox.
    pub sandbox: SandboxConfig,
    /// Who performs the roles unless a run says otherwise.
    pub agents: AgentsConfig,
    /// Addresses of providers that differ from the provider table's, by the provider's name.
    pub providers: BTreeMap<String, ProviderConfig>,
}

/// A setting that holds a password. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A secret of this text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for whoever needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

/// How sandboxes are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxConfig {
    /// Whether no run may start while a limit cannot be enforced on this machine.
    pub strict: bool,
    /// The user that commands run as where the service is root.
    pub uid: u32,
    /// Memory of one sandbox in MiB.
    pub memory_mib: u64,
}

/// The agents of the roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentsConfig {
    /// Who writes.
    pub implementer: AgentConfig,
    /// Who reads.
    pub reviewer: AgentConfig,
}

/// One role's agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentConfig {
    /// Name in the provider table.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
}

/// Where a provider is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderConfig {
    /// Its base URL instead of the table's.
    pub base_url: Option<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data: PathBuf::from("countersign-data"),
            database: None,
            listen: SocketAddr::from(([127, 0, 0, 1], 7171)),
            slots: 2,
            lease: Duration::from_secs(15),
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
    /// The file is not there or cannot be read, or the directory that a path is relative to is gone.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is no TOML.
    #[error("the configuration {} is not valid TOML: {message}", path.display())]
    Invalid {
        /// Which file.
        path: PathBuf,
        /// Where and what.
        message: String,
    },
    /// A value of the wrong kind or out of range.
    #[error("{given} must be {must}")]
    Bad {
        /// The key or the variable.
        given: String,
        /// What would be right.
        must: &'static str,
    },
    /// A key of the file, or an environment variable of ours, that no setting stands behind.
    #[error("there is no setting {given}; did you mean {near}?")]
    Unknown {
        /// The key or the variable.
        given: String,
        /// The nearest known one.
        near: String,
    },
}

/// One setting: how it is called in the file, what it must be, and where it goes if it is that.
struct Key {
    /// With a dot between section and key.
    name: &'static str,
    must: &'static str,
    set: fn(&mut Config, &Value) -> Option<()>,
}

const LOOPBACK: &str = "a loopback address such as \"127.0.0.1:7171\", since there is no sign-in yet";
const DATABASE: &str = "the address of a PostgreSQL server, such as \"postgres://user:password@host:5432/name\"";
const PROVIDER: &str = "the name of a provider, such as \"anthropic\"";
const MODEL: &str = "the provider's name of a model";
const BASE_URL: &str = "the address of a provider, such as \"https://api.anthropic.com\"";

const KEYS: &[Key] = &[
    Key { name: "data", must: "a path", set: |c, v| put(&mut c.data, text(v)?.into()) },
    Key { name: "database", must: DATABASE, set: |c, v| put(&mut c.database, Some(database(v)?)) },
    Key { name: "listen", must: LOOPBACK, set: |c, v| put(&mut c.listen, loopback(v)?) },
    Key { name: "slots", must: "a whole number from 1 to 64", set: |c, v| put(&mut c.slots, whole(v, 1..=64)?) },
    Key {
        name: "lease_s",
        must: "a whole number of seconds from 2 to 300",
        set: |c, v| put(&mut c.lease, Duration::from_secs(whole(v, 2..=300)?)),
    },
    Key { name: "sandbox.strict", must: "true or false", set: |c, v| put(&mut c.sandbox.strict, v.as_bool()?) },
    Key {
        name: "sandbox.uid",
        must: "a user's number from 1 to 4294967294, and never root's 0",
        set: |c, v| put(&mut c.sandbox.uid, whole(v, 1..=u32::MAX - 1)?),
    },
    Key {
        name: "sandbox.memory_mib",
        must: "a whole number of MiB from 64 to 1048576",
        set: |c, v| put(&mut c.sandbox.memory_mib, whole(v, 64..=1_048_576)?),
    },
    Key {
        name: "agents.implementer.provider",
        must: PROVIDER,
        set: |c, v| put(&mut c.agents.implementer.provider, text(v)?),
    },
    Key { name: "agents.implementer.model", must: MODEL, set: |c, v| put(&mut c.agents.implementer.model, text(v)?) },
    Key {
        name: "agents.reviewer.provider",
        must: PROVIDER,
        set: |c, v| put(&mut c.agents.reviewer.provider, text(v)?),
    },
    Key { name: "agents.reviewer.model", must: MODEL, set: |c, v| put(&mut c.agents.reviewer.model, text(v)?) },
];

/// What the variables of our settings begin with; a variable is its key in capitals, with `_` in place of the dots.
const PREFIX: &str = "COUNTERSIGN_";

impl Config {
    /// Reads the file, if one is given, and then the environment, which wins.
    ///
    /// # Errors
    /// [`Error`], naming the key and what would be right.
    pub fn load(file: Option<&Path>) -> Result<Self, Error> {
        Self::read(file, environment())
    }

    fn read(file: Option<&Path>, environment: impl Iterator<Item = (String, String)>) -> Result<Self, Error> {
        let mut config = Self::default();
        if let Some(path) = file {
            for (name, value) in leaves("", table(path)?) {
                config.set(&name, &[value], &|key| format!("`{key}`"))?;
            }
        }
        for (variable, value) in environment {
            if let Some(name) = variable.strip_prefix(PREFIX) {
                config.set(&of_variable(name), &readings(value), &variable_of)?;
            }
        }
        config.data = std::path::absolute(&config.data)
            .map_err(|source| Error::Unreadable { path: config.data.clone(), source })?;
        Ok(config)
    }

    /// Sets a key to the first of these values that it takes; `shown` is how the key is called where it was given.
    fn set(&mut self, name: &str, values: &[Value], shown: &dyn Fn(&str) -> String) -> Result<(), Error> {
        if values.iter().all(Value::is_table) && self.has_section(name) {
            return Ok(());
        }
        if let Some(provider) = provider_of(name) {
            let url = values.first().and_then(text).ok_or_else(|| Error::Bad { given: shown(name), must: BASE_URL })?;
            self.providers.entry(provider.to_owned()).or_default().base_url = Some(url);
            return Ok(());
        }
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            let known: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
            return Err(Error::Unknown { given: shown(name), near: shown(nearest(name, &known)) });
        };
        let taken = values.iter().find_map(|value| (key.set)(self, value));
        taken.ok_or_else(|| Error::Bad { given: shown(name), must: key.must })
    }

    /// Whether an empty section of this name may stand there; a provider's is kept, so that its name is looked at.
    fn has_section(&mut self, name: &str) -> bool {
        if let Some(provider) = name.strip_prefix("providers.").filter(|provider| !provider.contains('.')) {
            self.providers.entry(provider.to_owned()).or_default();
            return true;
        }
        name == "providers" || KEYS.iter().any(|key| key.name.starts_with(&format!("{name}.")))
    }
}

fn put<T>(place: &mut T, value: T) -> Option<()> {
    *place = value;
    Some(())
}

/// A text that says something.
fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

fn database(value: &Value) -> Option<Secret> {
    text(value).filter(|url| url.starts_with("postgres://") || url.starts_with("postgresql://")).map(Secret)
}

fn whole<T: TryFrom<i64> + PartialOrd>(value: &Value, range: RangeInclusive<T>) -> Option<T> {
    T::try_from(value.as_integer()?).ok().filter(|n| range.contains(n))
}

fn loopback(value: &Value) -> Option<SocketAddr> {
    value.as_str()?.parse().ok().filter(|address: &SocketAddr| address.ip().is_loopback())
}

/// The provider in `providers.NAME.base_url`.
fn provider_of(name: &str) -> Option<&str> {
    name.strip_prefix("providers.")?.strip_suffix(".base_url").filter(|provider| !provider.is_empty())
}

fn table(path: &Path) -> Result<Table, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
    text.parse().map_err(|e: toml::de::Error| Error::Invalid { path: path.to_owned(), message: e.to_string() })
}

/// Every value of the file with its key; an empty section stands for itself.
fn leaves(prefix: &str, table: Table) -> Vec<(String, Value)> {
    let each = |(key, value): (String, Value)| {
        let name = if prefix.is_empty() { key } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inner) if !inner.is_empty() => leaves(&name, inner),
            Value::Table(_)
            | Value::String(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime(_)
            | Value::Array(_) => vec![(name, value)],
        }
    };
    table.into_iter().flat_map(each).collect()
}

/// What a variable's text can mean: itself, a number, yes or no.
fn readings(value: String) -> Vec<Value> {
    let number = value.parse().ok().map(Value::Integer);
    let flag = value.parse().ok().map(Value::Boolean);
    [Value::String(value)].into_iter().chain(number).chain(flag).collect()
}

/// The key that a variable without its prefix stands for; keys have `_` of their own, so the known ones are tried.
fn of_variable(name: &str) -> String {
    let known = KEYS.iter().find(|key| variable_of(key.name).strip_prefix(PREFIX) == Some(name));
    let provider = name.strip_prefix("PROVIDERS_").and_then(|rest| rest.strip_suffix("_BASE_URL"));
    match (known, provider) {
        (Some(key), _) => key.name.to_owned(),
        (None, Some(provider)) => format!("providers.{}.base_url", provider.to_lowercase()),
        (None, None) => name.to_lowercase().replace('_', "."),
    }
}

fn variable_of(key: &str) -> String {
    format!("{PREFIX}{}", key.to_uppercase().replace('.', "_"))
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn read(file: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("countersign.toml");
        std::fs::write(&path, file).unwrap();
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Config::read(Some(&path), variables).map_err(|e| e.to_string())
    }

    #[test]
    fn each_key_is_read_from_the_file_and_from_its_variable_which_wins() {
        let values = [
            ("data", "'/var/lib/c'", "/var/lib/d"),
            ("database", "'postgres://a@b/c'", "postgresql://a@b/d"),
            ("listen", "'127.0.0.1:1'", "[::1]:2"),
            ("slots", "3", "4"),
            ("lease_s", "5", "6"),
            ("sandbox.strict", "false", "true"),
            ("sandbox.uid", "70000", "70001"),
            ("sandbox.memory_mib", "100", "200"),
            ("agents.implementer.provider", "'a'", "b"),
            ("agents.implementer.model", "'a'", "b"),
            ("agents.reviewer.provider", "'a'", "5"),
            ("agents.reviewer.model", "'a'", "true"),
            ("providers.anthropic.base_url", "'http://127.0.0.1:1'", "http://127.0.0.1:2"),
        ];
        assert_eq!(values.len(), KEYS.len() + 1);
        for (key, in_file, in_variable) in values {
            let file = format!("{key} = {in_file}\n");
            let variable = [(variable_of(key), in_variable)];
            let variable: Vec<(&str, &str)> = variable.iter().map(|(n, v)| (n.as_str(), *v)).collect();
            let both = read(&file, &variable).unwrap();
            assert_eq!(both, read("", &variable).unwrap(), "{key}");
            assert_ne!(both, read(&file, &[]).unwrap(), "{key}");
            assert_ne!(both, read("", &[]).unwrap(), "{key}");
        }
    }

    #[test]
    fn an_unknown_key_or_variable_is_an_error_that_names_the_nearest_known_one() {
        let cases = [
            ("slot = 3", "there is no setting `slot`; did you mean `slots`?"),
            ("lisen = 'x'", "there is no setting `lisen`; did you mean `listen`?"),
            ("[sandbox]\nmemory = 3", "there is no setting `sandbox.memory`; did you mean `sandbox.memory_mib`?"),
            (
                "[agents.reviewer]\nmodell = 'x'",
                "there is no setting `agents.reviewer.modell`; did you mean `agents.reviewer.model`?",
            ),
        ];
        for (file, said) in cases {
            assert_eq!(read(file, &[]).unwrap_err(), said);
        }
        let said = "there is no setting COUNTERSIGN_LISTN; did you mean COUNTERSIGN_LISTEN?";
        assert_eq!(read("", &[("COUNTERSIGN_LISTN", "x")]).unwrap_err(), said);
    }

    #[test]
    fn a_value_that_does_not_fit_says_what_would() {
        let cases = [
            ("listen = 5", "`listen` must be a loopback address such as \"127.0.0.1:7171\""),
            ("listen = '0.0.0.0:80'", "`listen` must be a loopback address"),
            ("listen = 'localhost'", "`listen` must be a loopback address"),
            ("database = 'mysql://a'", "`database` must be the address of a PostgreSQL server"),
            ("slots = 0", "`slots` must be a whole number from 1 to 64"),
            ("slots = 65", "`slots` must be a whole number from 1 to 64"),
            ("slots = -1", "`slots` must be a whole number from 1 to 64"),
            ("slots = 1.5", "`slots` must be a whole number from 1 to 64"),
            ("slots = [2]", "`slots` must be a whole number from 1 to 64"),
            ("data = ''", "`data` must be a path"),
            ("[sandbox]\nuid = 0", "`sandbox.uid` must be a user's number"),
            ("[sandbox]\nuid = 4294967295", "`sandbox.uid` must be a user's number"),
            ("[sandbox]\nmemory_mib = 63", "`sandbox.memory_mib` must be a whole number of MiB"),
            ("[sandobx]", "there is no setting `sandobx`"),
            ("sandbox = true", "there is no setting `sandbox`"),
            ("slots = ", "is not valid TOML"),
        ];
        for (file, said) in cases {
            let refused = read(file, &[]).unwrap_err();
            assert!(refused.contains(said), "{file}: {refused}");
        }
        let refused = read("", &[("COUNTERSIGN_SANDBOX_STRICT", "yes")]).unwrap_err();
        assert_eq!(refused, "COUNTERSIGN_SANDBOX_STRICT must be true or false");
        let missing = Config::read(Some(Path::new("/no/such/file")), std::iter::empty()).unwrap_err();
        assert!(missing.to_string().contains("/no/such/file"), "{missing}");
    }

    #[test]
    fn an_empty_section_changes_nothing_but_a_providers_name_is_kept_to_be_looked_at() {
        assert_eq!(read("[sandbox]\n[agents]\n[agents.reviewer]\n[providers]\n", &[]), read("", &[]));
        assert!(read("[providers.antropic]\n", &[]).unwrap().providers.contains_key("antropic"));
    }

    #[test]
    fn a_relative_data_directory_means_the_same_wherever_it_is_used_from_then_on() {
        let config = read("data = 'somewhere'", &[]).unwrap();
        assert_eq!(config.data, std::env::current_dir().unwrap().join("somewhere"));
    }

    #[test]
    fn other_variables_are_not_ours() {
        assert_eq!(read("", &[("PATH", "x"), ("COUNTERSIGNED", "x")]), read("", &[]));
    }
}
