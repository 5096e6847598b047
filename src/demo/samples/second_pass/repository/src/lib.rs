//! Splits and joins lines of comma-separated values.

/// Splits one line into its fields.
pub fn split(line: &str) -> Vec<String> {
    line.split(',').map(str::to_string).collect()
}

/// Joins fields into one line. A field that holds a comma or a quote is quoted, and its quotes are doubled.
pub fn join(fields: &[&str]) -> String {
    let quoted: Vec<String> = fields.iter().map(|field| quote(field)).collect();
    quoted.join(",")
}

fn quote(field: &str) -> String {
    if field.contains([',', '"']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_string()
    }
}
