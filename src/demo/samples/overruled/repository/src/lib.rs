//! Says durations the way people do.

/// Says a number of seconds in hours, minutes and seconds; parts that are zero are left out.
pub fn say(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds % 3600 / 60, seconds % 60);
    let mut parts = Vec::new();
    if hours > 0 {
        parts.push(format!("{hours}h"));
    }
    if minutes > 0 {
        parts.push(format!("{minutes}m"));
    }
    if rest > 0 || parts.is_empty() {
        parts.push(format!("{rest}s"));
    }
    parts.join(" ")
}
