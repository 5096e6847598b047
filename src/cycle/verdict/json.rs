//! Reads JSON from a stranger: bounded in size and depth, every key once. Knows nothing of verdicts.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::Unreadable;

/// The longest text that is read, in bytes. A verdict with 200 findings of ordinary length is about 100 KiB.
pub(in crate::cycle) const MOST_BYTES: usize = 1 << 20;

/// How deep arrays and objects may nest; a verdict itself needs three.
const MOST_DEPTH: usize = 16;

/// Reads one JSON value and refuses anything after it.
///
/// A half of a surrogate pair becomes U+FFFD, since one odd character is no reason to lose a verdict.
pub(in crate::cycle) fn read(text: &str) -> Result<Value, Unreadable> {
    if text.len() > MOST_BYTES {
        return Err(Unreadable::TooLarge);
    }
    let text = without_lone_surrogates(text);
    let broken = RefCell::new(None);
    let mut json = serde_json::Deserializer::from_str(&text);
    let value = Strict { depth: 0, broken: &broken }.deserialize(&mut json);
    let whole = value.and_then(|value| json.end().map(|()| value));
    whole.map_err(|e| broken.take().unwrap_or(Unreadable::NotJson { line: e.line(), column: e.column() }))
}

/// Replaces every escape that names half a surrogate pair; the length stays, so error positions stay true.
fn without_lone_surrogates(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        clean.push_str(&rest[..at]);
        rest = &rest[at..];
        let (escape, length) = match (code_unit(rest), rest.get(6..).and_then(code_unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (&rest[..12], 12),
            (Some(0xd800..=0xdfff), _) => ("\\ufffd", 6),
            // Two characters, so that an escaped backslash never starts an escape of its own.
            (Some(_) | None, _) => {
                let length = rest.chars().take(2).map(char::len_utf8).sum();
                (&rest[..length], length)
            }
        };
        clean.push_str(escape);
        rest = &rest[length..];
    }
    clean.push_str(rest);
    clean
}

/// The number of an escape of the form `\uXXXX` at the start of the text.
fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

/// A visitor that knows how deep it is, and leaves its reason in `broken` when it refuses.
#[derive(Clone, Copy)]
struct Strict<'a> {
    depth: usize,
    broken: &'a RefCell<Option<Unreadable>>,
}

impl Strict<'_> {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        if self.depth < MOST_DEPTH {
            Ok(Self { depth: self.depth + 1, ..self })
        } else {
            self.refuse(Unreadable::TooDeep)
        }
    }

    fn refuse<T, E: Error>(self, why: Unreadable) -> Result<T, E> {
        self.broken.replace(Some(why));
        Err(E::custom("refused"))
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inside = self.deeper()?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(inside)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let inside = self.deeper()?;
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if fields.contains_key(&key) {
                return self.refuse(Unreadable::duplicate_key(&key));
            }
            fields.insert(key, map.next_value_seed(inside)?);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_json_to_everyone_else_is_read_the_same() {
        for text in [
            "null",
            "true",
            "-0",
            "18446744073709551615",
            "-9223372036854775808",
            "1.5e3",
            "\"\\\\ud800\"",
            "[]",
            r#"{"a":[1,{"b":"é\n😀\ud83d\ude00"}],"":null}"#,
            " \r\n\t[1] \n",
        ] {
            assert_eq!(read(text).ok(), serde_json::from_str::<Value>(text).ok(), "{text}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_costs_one_character() {
        for (text, reads) in [
            (r#""a\ud800b""#, "a\u{fffd}b"),
            (r#""\uDFFF""#, "\u{fffd}"),
            (r#""\ud800\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\\ud800""#, "\\ud800"),
        ] {
            assert_eq!(read(text), Ok(Value::from(reads)), "{text}");
        }
    }

    #[test]
    fn each_way_to_be_unreadable_has_its_own_cause() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let not_json = |line, column| Err(Unreadable::NotJson { line, column });
        let table: [(&str, Result<(), Unreadable>); 16] = [
            (&nested(16), Ok(())),
            (&nested(17), Err(Unreadable::TooDeep)),
            (&"[".repeat(100_000), Err(Unreadable::TooDeep)),
            (&"{\"a\":".repeat(100_000), Err(Unreadable::TooDeep)),
            (&format!("\"{}\"", "x".repeat(MOST_BYTES - 2)), Ok(())),
            (&format!("\"{}\"", "x".repeat(MOST_BYTES - 1)), Err(Unreadable::TooLarge)),
            (r#"{"a":1,"a":1}"#, Err(Unreadable::DuplicateKey { key: "a".to_owned() })),
            (r#"[{"a":{"b":1,"\u0062":2}}]"#, Err(Unreadable::DuplicateKey { key: "b".to_owned() })),
            ("", not_json(1, 0)),
            ("{\n  \"a\": x\n}", not_json(2, 8)),
            ("{}{}", not_json(1, 3)),
            ("{'a':1}", not_json(1, 2)),
            ("[1,]", not_json(1, 4)),
            ("1e999", not_json(1, 5)),
            ("NaN", not_json(1, 1)),
            ("\"\\u12\"", not_json(1, 6)),
        ];
        for (text, result) in table {
            let short: String = text.chars().take(40).collect();
            assert_eq!(read(text).map(|_| ()), result, "{short}");
        }
    }

    #[test]
    fn a_hundred_thousand_keys_are_read_in_one_go() {
        let keys: Vec<String> = (0..100_000).map(|n| format!("\"{n}\":0")).collect();
        let text = format!("{{{}}}", keys.join(","));
        assert_eq!(read(&text).ok().and_then(|v| v.as_object().map(Map::len)), Some(100_000));
    }
}
