//! `{{name}}`: values that a reply takes from the request.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A placeholder for which the request holds no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Missing(pub(super) String);

/// Fills placeholders from the texts of one request.
pub(super) struct Fill<'a> {
    pub(super) capture: &'a BTreeMap<String, String>,
    /// All texts of the request, in order.
    pub(super) texts: &'a [String],
}

impl Fill<'_> {
    /// The text with every placeholder replaced.
    pub(super) fn text(&self, text: &str) -> Result<String, Missing> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((name, behind)) = after.split_once("}}") else { break };
            filled.push_str(before);
            // Braces around something that is not captured are just braces.
            match self.capture.get(name.trim()) {
                Some(marker) => filled.push_str(self.find(marker).ok_or_else(|| Missing(name.trim().to_owned()))?),
                None => filled.push_str(&format!("{{{{{name}}}}}")),
            }
            rest = behind;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// The arguments with every placeholder in their texts replaced.
    pub(super) fn map(&self, map: &Map<String, Value>) -> Result<Map<String, Value>, Missing> {
        map.iter().map(|(key, value)| Ok((key.clone(), self.value(value)?))).collect()
    }

    fn value(&self, value: &Value) -> Result<Value, Missing> {
        Ok(match value {
            Value::String(text) => Value::String(self.text(text)?),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.value(item)).collect::<Result<_, _>>()?),
            Value::Object(map) => Value::Object(self.map(map)?),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        })
    }

    /// The word after the last occurrence of the marker.
    fn find(&self, marker: &str) -> Option<&str> {
        let ends = |c: char| c.is_whitespace() || "\"'`<>,;)]}".contains(c);
        let in_text = |text: &'_ str| text.rfind(marker).map(|at| at + marker.len());
        let words = self.texts.iter().rev().filter_map(|text| {
            let word = text[in_text(text)?..].trim_start_matches(['`', '"']);
            word.split(ends).next()
        });
        words.into_iter().find(|word| !word.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_word_behind_the_marker_is_taken() {
        let capture = BTreeMap::from([("digest".to_owned(), "diff-digest: ".to_owned())]);
        let texts =
            ["diff-digest: old".to_owned(), "see diff-digest: `abc123`, ok\ndiff-digest: ".to_owned(), "x".to_owned()];
        let fill = Fill { capture: &capture, texts: &texts };
        assert_eq!(fill.text("a {{digest}} b {{ digest }}"), Ok("a old b old".to_owned()));
        let texts = ["diff-digest: `abc123`, ok".to_owned()];
        let fill = Fill { capture: &capture, texts: &texts };
        let input = json!({"d": ["{{digest}}", 1], "e": {"f": "{{other}} {{"}});
        let filled = fill.map(input.as_object().unwrap_or(&Map::new()));
        assert_eq!(filled.map(Value::Object), Ok(json!({"d": ["abc123", 1], "e": {"f": "{{other}} {{"}})));
    }

    #[test]
    fn a_value_that_is_not_there_is_said() {
        let capture = BTreeMap::from([("digest".to_owned(), "diff-digest: ".to_owned())]);
        let fill = Fill { capture: &capture, texts: &[] };
        assert_eq!(fill.text("{{digest}}"), Err(Missing("digest".to_owned())));
    }
}
