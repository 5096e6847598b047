//! JSON from outside: bounded in depth and number of values, and without duplicate keys.
//!
//! Two readers of one text with a duplicate key may each take another value; a text that says two things is refused.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The deepest nesting that is read.
pub const MAX_DEPTH: usize = 64;
/// The most values (of any kind) that are read from one text.
pub const MAX_VALUES: usize = 200_000;

/// Reads one JSON value and nothing after it.
///
/// # Errors
/// The text is not JSON, is nested deeper than [`MAX_DEPTH`], holds over [`MAX_VALUES`] values, a number that does not
/// fit, a lone surrogate, or one key twice in an object.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    let mut left = MAX_VALUES;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict { depth: MAX_DEPTH, left: &mut left }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Whether objects and lists in the text are nested deeper than `limit`; what is in strings does not count.
///
/// It looks at bytes only and needs no memory, whatever the text.
#[must_use]
pub fn is_deeper_than(text: &str, limit: usize) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > limit {
            return true;
        }
    }
    false
}

struct Strict<'a> {
    depth: usize,
    left: &'a mut usize,
}

impl Strict<'_> {
    fn deeper<E: de::Error>(&mut self) -> Result<usize, E> {
        self.depth.checked_sub(1).ok_or_else(|| E::custom("nested too deeply"))
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        *self.left = self.left.checked_sub(1).ok_or_else(|| de::Error::custom("too many values"))?;
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let depth = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict { depth, left: self.left })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        let depth = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Strict { depth, left: self.left })?;
            if map.insert(key, value).is_some() {
                return Err(de::Error::custom("one key twice in an object"));
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn ordinary_json_is_read_as_everyone_reads_it() {
        let text = r#"{"a":[1,-2,3.5,true,null,"\u00e9\n"],"b":{"c":18446744073709551615}}"#;
        assert_eq!(parse(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn hostile_json_is_an_error_and_never_a_panic() {
        let deep = "[".repeat(100_000);
        let closed = format!("{}{}", "[".repeat(65), "]".repeat(65));
        let many = format!("[{}0]", "0,".repeat(MAX_VALUES));
        let keys = format!("{{{}\"z\":0}}", (0..MAX_VALUES).map(|i| format!("\"k{i}\":0,")).collect::<String>());
        let cases = [
            deep.as_str(),
            &closed,
            &many,
            &keys,
            r#"{"a":1,"a":2}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"[{"x":{"y":1,"y":1}}]"#,
            "1e400",
            r#""\ud800""#,
            "{} {}",
            "",
            "nul",
        ];
        for text in cases {
            assert!(parse(text).is_err(), "{} was taken", &text[..text.len().min(40)]);
        }
    }

    #[test]
    fn depth_is_seen_outside_strings_only() {
        assert!(!is_deeper_than(r#"{"a":["[[[[\"[[[[",[1]]}"#, 3));
        assert!(is_deeper_than(r#"{"a":["",[1]]}"#, 2));
        assert!(is_deeper_than(&"{\"a\":".repeat(1_000_000), 128));
    }

    #[test]
    fn the_deepest_allowed_nesting_is_read() {
        assert!(parse(&format!("{}{}", "[".repeat(64), "]".repeat(64))).is_ok());
    }
}
