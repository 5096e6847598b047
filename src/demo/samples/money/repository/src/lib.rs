//! Reads sizes such as `10 KiB`.

/// Reads a whole number with an optional unit (`KiB`, `MiB`, `GiB`) as a number of bytes.
pub fn parse(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
        Some(end) => (&text[..end], text[end..].trim()),
        None => (text, ""),
    };
    let number: u32 = number
        .parse()
        .map_err(|_| format!("`{text}` does not begin with a number"))?;
    let factor: u32 = match unit {
        "" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        other => return Err(format!("`{other}` is no unit; there are KiB, MiB and GiB")),
    };
    Ok(u64::from(number * factor))
}
