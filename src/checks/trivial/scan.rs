//! Shell text cut into words and operators, as far as that goes without expanding anything.

/// A word or an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    /// `;`, a line end, `&`, `&&`, `|`, `||`, `(`, `)`, and `<` and `>` for all redirections.
    Operator(String),
}

/// A word with its quotes removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// Whether any of it was quoted, so that it is no keyword.
    pub(super) quoted: bool,
    /// Whether the shell would put something else for part of it.
    pub(super) dynamic: bool,
}

impl Word {
    /// `NAME=value`.
    pub(super) fn is_assignment(&self) -> bool {
        let name = self.text.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| {
            !name.is_empty()
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    }
}

/// The tokens of a line; `None` for here-documents, unclosed quotes and other things that are not followed.
pub(super) fn tokens(line: &str) -> Option<Vec<Token>> {
    let chars: Vec<char> = line.chars().collect();
    let mut scan = Scan { chars: &chars, at: 0, tokens: Vec::new() };
    while let Some(c) = scan.peek(0) {
        scan.token(c)?;
    }
    Some(scan.tokens)
}

struct Scan<'a> {
    chars: &'a [char],
    at: usize,
    tokens: Vec<Token>,
}

impl Scan<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn token(&mut self, c: char) -> Option<()> {
        match c {
            ' ' | '\t' => self.at += 1,
            '#' => self.at += self.chars[self.at..].iter().take_while(|c| **c != '\n').count(),
            '<' | '>' => return self.redirection(c),
            '&' if self.peek(1) == Some('>') => {
                self.at += 1;
                return self.redirection('>');
            }
            ';' | '\n' | '(' | ')' | '&' | '|' => {
                let double = matches!(c, '&' | '|') && self.peek(1) == Some(c);
                let text = if double { format!("{c}{c}") } else { c.to_string() };
                self.at += text.len();
                self.tokens.push(Token::Operator(text));
            }
            _ => {
                let word = self.word()?;
                // `2>` redirects; the number is no word of its own.
                let number = word.text.chars().all(|c| c.is_ascii_digit()) && !word.quoted;
                if !(number && matches!(self.peek(0), Some('<' | '>'))) {
                    self.tokens.push(Token::Word(word));
                }
            }
        }
        Some(())
    }

    fn redirection(&mut self, c: char) -> Option<()> {
        self.at += 1;
        match (c, self.peek(0)) {
            // Here-documents and process substitution.
            ('<', Some('<')) | (_, Some('(')) => return None,
            (_, Some('>' | '|' | '&')) => self.at += 1,
            (_, _) => {}
        }
        self.tokens.push(Token::Operator(c.to_string()));
        Some(())
    }

    fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\'' => self.single_quoted(&mut word)?,
                '"' => self.double_quoted(&mut word)?,
                '\\' => {
                    word.quoted = true;
                    word.text.push(self.peek(1)?);
                    self.at += 2;
                }
                '$' | '`' => self.expansion(&mut word)?,
                '*' | '?' => self.push(&mut word, c, true),
                _ => self.push(&mut word, c, false),
            }
        }
        Some(word)
    }

    fn push(&mut self, word: &mut Word, c: char, dynamic: bool) {
        word.text.push(c);
        word.dynamic |= dynamic;
        self.at += 1;
    }

    fn single_quoted(&mut self, word: &mut Word) -> Option<()> {
        let length = self.chars[self.at + 1..].iter().position(|c| *c == '\'')?;
        word.quoted = true;
        word.text.extend(&self.chars[self.at + 1..=self.at + length]);
        self.at += length + 2;
        Some(())
    }

    fn double_quoted(&mut self, word: &mut Word) -> Option<()> {
        word.quoted = true;
        self.at += 1;
        loop {
            match self.peek(0)? {
                '"' => break,
                '\\' => {
                    word.text.push(self.peek(1)?);
                    self.at += 2;
                }
                '$' | '`' => self.expansion(word)?,
                c => self.push(word, c, false),
            }
        }
        self.at += 1;
        Some(())
    }

    /// `$name`, `${…}`, `$(…)`, `` `…` ``: kept as written, up to its end.
    fn expansion(&mut self, word: &mut Word) -> Option<()> {
        let close = match (self.peek(0)?, self.peek(1)) {
            ('`', _) => '`',
            (_, Some('(')) => ')',
            (_, Some('{')) => '}',
            (_, Some(next)) => {
                self.push(word, '$', true);
                if next == '$' {
                    self.push(word, '$', true);
                }
                return Some(());
            }
            (_, None) => {
                self.push(word, '$', true);
                return Some(());
            }
        };
        let open = if close == ')' { '(' } else { '{' };
        let mut depth = 0_usize;
        self.push(word, '$', true);
        loop {
            let c = self.peek(0)?;
            depth += usize::from(c == open && close != '`');
            self.push(word, c, true);
            if c == close {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(());
                }
            }
        }
    }
}
