//! Server-sent events, decoded from a byte stream however it is cut.

/// The longest event that is decoded, in bytes of its data.
pub const MAX_EVENT: usize = 1 << 20;

/// An event longer than [`MAX_EVENT`], or one that is not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// The line or the event grew past [`MAX_EVENT`].
    #[error("an event is longer than {MAX_EVENT} bytes")]
    TooLong,
    /// The data of an event is not UTF-8.
    #[error("an event is not UTF-8")]
    NotText,
}

/// Collects the `data` of each event; names, ids and comments are passed over, since a wire format's events carry
/// their type in the data.
#[derive(Debug, Default)]
pub struct SseDecoder {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_cr: bool,
}

impl SseDecoder {
    /// Takes the next bytes of the stream and returns the data of every event that they complete.
    ///
    /// # Errors
    /// See [`SseError`]. The decoder is of no further use then.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, SseError> {
        let mut events = Vec::new();
        for &byte in bytes {
            let lf_of_crlf = byte == b'\n' && std::mem::take(&mut self.after_cr);
            if lf_of_crlf {
                continue;
            }
            self.after_cr = byte == b'\r';
            if byte == b'\n' || byte == b'\r' {
                self.end_line(&mut events)?;
            } else if self.line.len() < MAX_EVENT {
                self.line.push(byte);
            } else {
                return Err(SseError::TooLong);
            }
        }
        Ok(events)
    }

    fn end_line(&mut self, events: &mut Vec<String>) -> Result<(), SseError> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            if std::mem::take(&mut self.has_data) {
                let data = std::mem::take(&mut self.data);
                events.push(String::from_utf8(data).map_err(|_| SseError::NotText)?);
            }
            return Ok(());
        }
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
        let Some(value) = line.strip_prefix(b"data").and_then(after_colon) else {
            return Ok(());
        };
        if self.data.len() + value.len() >= MAX_EVENT {
            return Err(SseError::TooLong);
        }
        if self.has_data {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        self.has_data = true;
        Ok(())
    }
}

/// The value after a field's name: `:` and one optional space are dropped, and a bare name has an empty value.
fn after_colon(rest: &[u8]) -> Option<&[u8]> {
    match rest {
        [] => Some(rest),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn whole(text: &str) -> Vec<String> {
        SseDecoder::default().push(text.as_bytes()).unwrap()
    }

    #[test]
    fn events_come_out_the_same_however_the_stream_is_cut() {
        let text =
            "\u{feff}event: a\r\ndata: {\"x\":1}\r\n\r\n: ping\n\ndata:one\ndata: two\n\ndata\r\rid: 7\ndatax: no\n\n";
        let expected = ["{\"x\":1}", "one\ntwo", ""];
        assert_eq!(whole(text), expected);
        for size in 1..text.len() {
            let mut decoder = SseDecoder::default();
            let events: Vec<_> = text.as_bytes().chunks(size).flat_map(|c| decoder.push(c).unwrap()).collect();
            assert_eq!(events, expected, "cut every {size} bytes");
        }
    }

    #[test]
    fn an_event_without_its_blank_line_is_not_an_event() {
        assert!(whole("data: half\n").is_empty());
    }

    #[test]
    fn a_stream_without_line_ends_is_refused_at_the_limit() {
        let mut decoder = SseDecoder::default();
        assert_eq!(decoder.push(&vec![b'x'; MAX_EVENT]), Ok(Vec::new()));
        assert_eq!(decoder.push(b"x"), Err(SseError::TooLong));
    }

    #[test]
    fn an_event_of_endless_data_lines_is_refused_at_the_limit() {
        let mut decoder = SseDecoder::default();
        let line = format!("data: {}\n", "y".repeat(MAX_EVENT / 4));
        let outcome = (0..5).find_map(|_| decoder.push(line.as_bytes()).err());
        assert_eq!(outcome, Some(SseError::TooLong));
    }

    #[test]
    fn bytes_that_are_not_text_are_refused() {
        assert_eq!(SseDecoder::default().push(b"data: \xff\xfe\n\n"), Err(SseError::NotText));
    }
}
