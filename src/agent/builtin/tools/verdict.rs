//! The reviewer's verdict. It is only taken down here; what it says is judged elsewhere.

use serde_json::{Map, Value};

use super::{Done, arguments};
use crate::gateway::wire::anthropic::INVALID_INPUT;

/// What the model is told: that its verdict was taken down, or that it could not be read as an object at all.
pub(super) fn acknowledge(input: &Value) -> Done {
    match arguments::<Map<String, Value>>(input) {
        Ok(_) => Done::ok("gave its verdict", "taken down; the review ends here"),
        Err(why) => Done::failed("gave an unreadable verdict", format!("{why}; give the whole verdict again")),
    }
}

/// The arguments as the model wrote them: JSON, or the text that was none.
pub(in crate::agent::builtin) fn raw(input: &Value) -> String {
    match input.get(INVALID_INPUT).and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => input.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_verdict_is_handed_over_as_it_was_written() {
        let input = json!({"approved": true, "findings": []});
        assert!(!acknowledge(&input).failed);
        assert_eq!(raw(&input), r#"{"approved":true,"findings":[]}"#);
        let broken = json!({INVALID_INPUT: "{\"approved\":true,\"approved\":false}"});
        assert!(acknowledge(&broken).failed);
        assert_eq!(raw(&broken), "{\"approved\":true,\"approved\":false}");
    }
}
