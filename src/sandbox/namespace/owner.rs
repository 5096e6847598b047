//! Which living process something on this machine belongs to, as part of its name.

use std::fmt;
use std::fs;

/// A process, told from every other one that has had or will have its number: by its pid namespace and by the moment
/// at which it started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    namespace: String,
    pid: u32,
    started: String,
}

impl Owner {
    /// The calling process.
    pub(super) fn this() -> Self {
        let pid = std::process::id();
        Self { namespace: namespace(), pid, started: start_of(pid).unwrap_or_default() }
    }

    /// Whether the name begins with an owner that no longer lives. A name of another form, or of an owner in another
    /// pid namespace, which cannot be seen from here, is nobody's to remove.
    pub(super) fn is_dead(name: &str) -> bool {
        let Some(owner) = Self::parse(name) else { return false };
        owner.namespace == namespace() && start_of(owner.pid).is_none_or(|started| started != owner.started)
    }

    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.split('.').next()?.split('-');
        let (namespace, pid, started) = (parts.next()?, parts.next()?, parts.next()?);
        let whole = parts.next().is_none() && !namespace.is_empty() && !started.is_empty();
        whole.then_some(Self { namespace: namespace.to_owned(), pid: pid.parse().ok()?, started: started.to_owned() })
    }
}

/// Text that [`Owner::is_dead`] finds at the beginning of a name, up to the first full stop.
impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.namespace, self.pid, self.started)
    }
}

/// The number of this process's pid namespace.
fn namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().chars().filter(char::is_ascii_digit).collect()
}

/// When the process started, in ticks since the machine did; `None` if there is no such process.
fn start_of(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in brackets, which may itself hold brackets and spaces.
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_process_owns_is_not_a_dead_ones() {
        assert!(!Owner::is_dead(&format!("{}.0.some-run", Owner::this())));
    }

    #[test]
    fn a_process_with_the_same_number_started_later_is_another_one() {
        let earlier = Owner { started: "1".to_owned(), ..Owner::this() };
        assert!(Owner::is_dead(&format!("{earlier}.0.some-run")));
    }

    #[test]
    fn what_cannot_be_told_is_left_alone() {
        let elsewhere = Owner { namespace: "1".to_owned(), started: "1".to_owned(), ..Owner::this() };
        for name in ["", "x", "1-2", "1-2-3-4.0", "-1-2.0", &format!("{elsewhere}.0")] {
            assert!(!Owner::is_dead(name), "{name}");
        }
    }
}
