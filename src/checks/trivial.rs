//! Shell lines that cannot succeed whatever the tree holds, which prove nothing by failing.
//!
//! A line is followed as far as simple shell goes: lists, pipes, `!`, `if`, groups. A program whose
//! result is not known may do either; a line is trivial if no way through it ends with 0. What is too
//! clever to follow is not trivial.

mod scan;

use std::collections::BTreeSet;

use scan::{Token, tokens};

/// Deeper nesting is not followed.
const DEEPEST: usize = 16;

/// How a piece of shell may come out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Zero,
    NonZero,
    /// The shell itself ends with 0.
    ExitZero,
    /// The shell itself ends otherwise.
    ExitNonZero,
}

type Ways = BTreeSet<Way>;

/// Whether the line fails however the tree looks, like `false`, `exit 3` or `! true`.
#[must_use]
pub fn is_trivial(line: &str) -> bool {
    follow(line, 0).is_some_and(|ways| !ways.contains(&Way::Zero) && !ways.contains(&Way::ExitZero))
}

fn follow(line: &str, depth: usize) -> Option<Ways> {
    let mut parser = Parser { tokens: tokens(line)?, at: 0, depth };
    let ways = parser.list(&[])?;
    (parser.at == parser.tokens.len()).then_some(ways)
}

fn one(way: Way) -> Ways {
    Ways::from([way])
}

fn either() -> Ways {
    Ways::from([Way::Zero, Way::NonZero])
}

/// What follows `first`, depending on whether that came out as 0 or not.
fn then(first: &Ways, zero: &Ways, non_zero: &Ways) -> Ways {
    let next = |way: &Way| match way {
        Way::Zero => zero.clone(),
        Way::NonZero => non_zero.clone(),
        Way::ExitZero | Way::ExitNonZero => one(*way),
    };
    first.iter().flat_map(next).collect()
}

/// A shell of its own: ending it ends nothing else.
fn subshell(ways: &Ways) -> Ways {
    let outside = |way: &Way| match way {
        Way::Zero | Way::ExitZero => Way::Zero,
        Way::NonZero | Way::ExitNonZero => Way::NonZero,
    };
    ways.iter().map(outside).collect()
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

/// Words that begin a command that is not followed.
const UNFOLLOWED: [&str; 8] = ["for", "while", "until", "case", "function", "select", "trap", "eval"];

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn take_operator(&mut self, operators: &[&str]) -> Option<String> {
        match self.peek() {
            Some(Token::Operator(op)) if operators.contains(&op.as_str()) => {
                let op = op.clone();
                self.at += 1;
                Some(op)
            }
            Some(Token::Operator(_) | Token::Word(_)) | None => None,
        }
    }

    /// Reserved words count only where a command may begin.
    fn is_keyword(&self, keywords: &[&str]) -> bool {
        matches!(self.peek(), Some(Token::Word(word)) if !word.quoted && keywords.contains(&word.text.as_str()))
    }

    fn take_keyword(&mut self, keyword: &str) -> Option<()> {
        self.is_keyword(&[keyword]).then(|| self.at += 1)
    }

    /// Commands up to one of the keywords, a closing parenthesis, or the end.
    fn list(&mut self, ends: &[&str]) -> Option<Ways> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let mut ways = one(Way::Zero);
        loop {
            while self.take_operator(&[";", "\n"]).is_some() {}
            let closed = matches!(self.peek(), Some(Token::Operator(op)) if op == ")");
            if self.peek().is_none() || closed || self.is_keyword(ends) {
                break;
            }
            let next = self.and_or()?;
            let next = if self.take_operator(&["&"]).is_some() { one(Way::Zero) } else { next };
            ways = then(&ways, &next, &next);
        }
        self.depth -= 1;
        Some(ways)
    }

    fn and_or(&mut self) -> Option<Ways> {
        let mut ways = self.pipeline()?;
        while let Some(op) = self.take_operator(&["&&", "||"]) {
            while self.take_operator(&["\n"]).is_some() {}
            let next = self.pipeline()?;
            ways = match op.as_str() {
                "&&" => then(&ways, &next, &one(Way::NonZero)),
                _ => then(&ways, &one(Way::Zero), &next),
            };
        }
        Some(ways)
    }

    fn pipeline(&mut self) -> Option<Ways> {
        let negated = self.take_keyword("!").is_some();
        let mut ways = self.command()?;
        while self.take_operator(&["|"]).is_some() {
            ways = subshell(&self.command()?);
        }
        Some(if negated { then(&ways, &one(Way::NonZero), &one(Way::Zero)) } else { ways })
    }

    fn command(&mut self) -> Option<Ways> {
        if self.take_operator(&["("]).is_some() {
            let ways = self.list(&[])?;
            self.take_operator(&[")"])?;
            return Some(subshell(&ways));
        }
        if self.take_keyword("{").is_some() {
            let ways = self.list(&["}"])?;
            self.take_keyword("}")?;
            return Some(ways);
        }
        if self.take_keyword("if").is_some() {
            return self.branches();
        }
        if self.is_keyword(&UNFOLLOWED) {
            return None;
        }
        self.simple()
    }

    fn branches(&mut self) -> Option<Ways> {
        let condition = self.list(&["then"])?;
        self.take_keyword("then")?;
        let body = self.list(&["elif", "else", "fi"])?;
        let otherwise = if self.take_keyword("elif").is_some() {
            return Some(then(&condition, &body, &self.branches()?));
        } else if self.take_keyword("else").is_some() {
            self.list(&["fi"])?
        } else {
            one(Way::Zero)
        };
        self.take_keyword("fi")?;
        Some(then(&condition, &body, &otherwise))
    }

    fn simple(&mut self) -> Option<Ways> {
        let mut words = Vec::new();
        let mut reads_file = false;
        loop {
            if let Some(Token::Word(word)) = self.peek() {
                words.push(word.clone());
                self.at += 1;
            } else if let Some(op) = self.take_operator(&["<", ">"]) {
                reads_file |= op == "<";
                let Some(Token::Word(_)) = self.peek() else { return None };
                self.at += 1;
            } else {
                break;
            }
        }
        let ways = known(&words, self.depth)?;
        // A file that cannot be read is a reason to fail.
        Some(if reads_file { then(&either(), &ways, &one(Way::NonZero)) } else { ways })
    }
}

/// How a simple command may come out; `None` if it is not followed.
fn known(words: &[scan::Word], depth: usize) -> Option<Ways> {
    let words = &words[words.iter().take_while(|word| word.is_assignment()).count()..];
    let Some((program, arguments)) = words.split_first() else { return Some(one(Way::Zero)) };
    if program.dynamic {
        return Some(either());
    }
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let name = program.text.rsplit('/').next().unwrap_or_default();
    let fixed = !arguments.iter().any(|word| word.dynamic);
    Some(match name {
        "true" | ":" | "echo" | "printf" | "sleep" | "set" | "export" | "unset" => one(Way::Zero),
        "false" => one(Way::NonZero),
        "exit" | "return" => match texts.first() {
            Some(_) if !fixed => Ways::from([Way::ExitZero, Way::ExitNonZero]),
            Some(code) => {
                one(if code.parse::<u32>().is_ok_and(|n| n % 256 == 0) { Way::ExitZero } else { Way::ExitNonZero })
            }
            None => Ways::from([Way::ExitZero, Way::ExitNonZero]),
        },
        "kill" if texts.contains(&"$$") => one(Way::ExitNonZero),
        "command" | "exec" | "time" | "nohup" | "env" => return known(arguments, depth),
        "test" | "[" if fixed => comparison(&texts),
        "sh" | "bash" | "dash" | "zsh" | "ksh" => script_of(arguments, 'c')
            .filter(|script| !script.dynamic)
            .and_then(|script| follow(&script.text, depth + 1))
            .map_or_else(either, |ways| subshell(&ways)),
        "python" | "python3" => code(script_of(arguments, 'c')),
        "node" | "perl" | "ruby" => code(script_of(arguments, 'e')),
        "php" => code(script_of(arguments, 'r')),
        _ => either(),
    })
}

/// The word behind `-c`, also in a cluster like `-ec`.
fn script_of(arguments: &[scan::Word], flag: char) -> Option<&scan::Word> {
    let is_flag =
        |word: &scan::Word| word.text.starts_with('-') && !word.text.starts_with("--") && word.text.ends_with(flag);
    let at = arguments.iter().position(is_flag)?;
    arguments[..at].iter().all(|word| word.text.starts_with('-')).then(|| arguments.get(at + 1))?
}

/// `test` on nothing but constants; tests of files are not known.
fn comparison(operands: &[&str]) -> Ways {
    let operands = operands.strip_suffix(&["]"]).unwrap_or(operands);
    let numbers = |a: &str, b: &str| Some((a.parse::<i64>().ok()?, b.parse::<i64>().ok()?));
    let holds = match operands {
        [] => Some(false),
        ["!", rest @ ..] if rest.len() < 3 => None,
        [one] => Some(!one.is_empty()),
        ["-z", text] => Some(text.is_empty()),
        ["-n", text] => Some(!text.is_empty()),
        [a, "=" | "==", b] => Some(a == b),
        [a, "!=", b] => Some(a != b),
        [a, "-eq", b] => numbers(a, b).map(|(a, b)| a == b),
        [a, "-ne", b] => numbers(a, b).map(|(a, b)| a != b),
        [a, "-lt", b] => numbers(a, b).map(|(a, b)| a < b),
        [a, "-le", b] => numbers(a, b).map(|(a, b)| a <= b),
        [a, "-gt", b] => numbers(a, b).map(|(a, b)| a > b),
        [a, "-ge", b] => numbers(a, b).map(|(a, b)| a >= b),
        _ => None,
    };
    holds.map_or_else(either, |holds| one(if holds { Way::Zero } else { Way::NonZero }))
}

/// One-line programs that do nothing but end.
fn code(script: Option<&scan::Word>) -> Ways {
    const NOTHING: [&str; 6] = ["import ", "use ", "print", "console.log(", "pass", "require "];
    const END: [&str; 10] = [
        "exit",
        "quit(",
        "sys.exit(",
        "os._exit(",
        "process.exit(",
        "raise",
        "throw ",
        "assert False",
        "assert 0",
        "1/0",
    ];
    let Some(script) = script.filter(|script| !script.dynamic) else { return either() };
    let statements = script.text.split([';', '\n']).map(str::trim).filter(|statement| !statement.is_empty());
    let mut rest = statements.filter(|statement| !NOTHING.iter().any(|nothing| statement.starts_with(nothing)));
    let Some(first) = rest.next() else { return one(Way::Zero) };
    let ends = END.iter().any(|end| first.starts_with(end)) || first.starts_with("die");
    let digits: String = first.chars().filter(char::is_ascii_digit).collect();
    let with_zero = first.contains("exit") && !first.contains(['"', '\'']) && matches!(digits.as_str(), "" | "0");
    match (ends && !first.contains(" if "), with_zero) {
        (true, true) => one(Way::Zero),
        (true, false) => one(Way::NonZero),
        (false, _) => either(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_cannot_succeed_proves_nothing() {
        let table = [
            "false",
            "/bin/false",
            "exit 1",
            "exit 255",
            "  exit   3  ",
            "! true",
            "! :",
            "(exit 1)",
            "{ false; }",
            "false # because",
            "true && false",
            "false || false",
            "echo broken; exit 1",
            "echo 'it fails' && false",
            "printf x | false",
            "sh -c 'exit 1'",
            "bash -ec \"false\"",
            "sh -c 'sh -c \"exit 2\"'",
            "kill -9 $$",
            "cargo test; exit 1",
            "cargo test && false",
            "cargo test | false",
            "grep -q x src/a.rs && exit 1",
            "if true; then exit 1; fi",
            "if false; then :; else exit 1; fi",
            "if cargo test; then false; else exit 1; fi",
            "if false; then :; elif true; then exit 1; fi",
            "[ 1 = 2 ]",
            "test 1 -eq 2",
            "test -z x",
            "[ ]",
            "X=1 false",
            "command false",
            "exec false",
            "python3 -c 'exit(1)'",
            "python -c 'import sys; sys.exit(2)'",
            "python3 -c 'raise SystemExit(1)'",
            "node -e 'process.exit(1)'",
            "node -e 'throw new Error()'",
            "perl -e 'exit 1'",
            "python3 -c 'assert False, \"no\"'",
            "return 1",
            "exit 1\n",
            "true\nfalse",
            "false > /dev/null 2>&1",
            "exit abc",
            "echo \"$(date)\"; exit 1",
            "sleep 1; false",
            "python3 -c 'import sys; sys.exit(\"broken\")'",
        ];
        for line in table {
            assert!(is_trivial(line), "`{line}` was taken as evidence");
        }
    }

    #[test]
    fn a_line_whose_end_depends_on_the_tree_is_evidence() {
        let table = [
            "cargo test",
            "cargo test --lib sum",
            "python3 -m pytest -k sum",
            "npm test",
            "make",
            "./check.sh",
            "grep -q 'fn sum' src/lib.rs",
            "! grep -rn unwrap src",
            "test -f README.md",
            "[ -x run.sh ]",
            "cargo test || exit 1",
            "grep -q x a && exit 1 || true",
            "if grep -q x a; then exit 1; fi",
            "test -f x || { echo missing; exit 1; }",
            "(cd api && npm test)",
            "sh -c 'cargo test'",
            "bash run.sh",
            "sh ./x -c false",
            "[ \"$(cat VERSION)\" = 2 ]",
            "diff <(a) <(b)",
            "for f in *.sh; do sh -n $f; done",
            "cat <<E | sh\nfalse\nE",
            "python3 -c 'import calc; assert calc.sum(2, 2) == 4'",
            "node -e 'require(\"./x\")'",
            "exit $(cargo test >/dev/null; echo $?)",
            "true < src/lib.rs",
            "x=$(cargo test) && exit $?",
            "$CHECK",
            "exit",
            "true",
            "echo hi",
            ":",
            "",
            "exit 0",
            "! exit 0 || false",
            "exit 256",
            "python3 -c 'exit(1 if broken() else 0)'",
            "[ ! -e x ]",
            "false &",
            "{ false; } || cargo test",
            "(((",
            "'unclosed",
            "if true; then",
            "false )",
            "python3 -c 'exit(0)'",
            "cargo test; test $? = 0",
            "sh -c \"$X\"",
            "kill -9 $PID",
        ];
        for line in table {
            assert!(!is_trivial(line), "`{line}` was taken as trivial");
        }
    }

    #[test]
    fn any_line_is_safe() {
        let pieces = [
            "(", ")", "{", "}", "if ", "then ", "fi", "!", "&&", "||", ";", "|", "'", "\"", "$(", "`", "\\", "é",
            "exit 1", " ", "<", ">", "&",
        ];
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..5_000 {
            let line: String = (0..random.usize(..30)).map(|_| pieces[random.usize(..pieces.len())]).collect();
            // Most of these are no shell at all; the shell would fail, but so it would on a better tree.
            let again = is_trivial(&line);
            assert_eq!(is_trivial(&line), again);
        }
        assert!(!is_trivial(&"(".repeat(100_000)));
        assert!(!is_trivial(&"sh -c ".repeat(1_000)));
        assert!(is_trivial(&"true;".repeat(1_000).replace("true;", "false;")));
    }
}
