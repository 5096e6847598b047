//! An oracle for markup: a strict reader of what our own templates can produce, and of nothing else.

use std::collections::BTreeSet;
use std::sync::LazyLock;

type Names = LazyLock<BTreeSet<&'static str>>;

/// The elements that our templates use.
static ELEMENTS: Names = LazyLock::new(|| {
    "html head meta title link body header footer main nav aside section article a svg symbol circle path use rect \
    h1 h2 h3 p span b bdi br code pre time ul ol li dl dt dd details summary meter div table tbody tr td mark form label input \
    textarea select option button"
        .split_whitespace()
        .collect()
});
/// The elements that have no end tag.
static VOID: Names = LazyLock::new(|| "meta link br input circle path use rect".split_whitespace().collect());
/// The attributes that our templates use; none can carry a script or a style.
static ATTRIBUTES: Names = LazyLock::new(|| {
    "lang charset name content rel type href class id title aria-hidden aria-label aria-labelledby \
    aria-current aria-invalid aria-describedby aria-level role viewbox d cx cy r datetime dir tabindex open for method action \
    accept-charset value required autocomplete autocapitalize spellcheck inputmode rows selected min max colspan"
        .split_whitespace()
        .collect()
});

/// Reads a page; what it says, without its markup and with entities resolved.
///
/// # Errors
/// The first thing that our templates cannot have written: an unknown element or attribute, an unquoted value,
/// a link that leaves this service, an element that is not closed where it was opened.
pub(crate) fn text_of(html: &str) -> Result<String, String> {
    let mut rest = html.strip_prefix("<!doctype html>").ok_or("no document type")?;
    let mut open: Vec<String> = Vec::new();
    let mut text = String::new();
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(&resolve(before)?);
        let (tag, after) = split_tag(tag)?;
        rest = after;
        match tag.strip_prefix('/') {
            Some(name) => match open.pop() {
                Some(opened) if opened == name => {}
                opened => return Err(format!("</{name}> closes {opened:?}")),
            },
            None => open.extend(start_tag(tag)?),
        }
    }
    text.push_str(&resolve(rest)?);
    if open.is_empty() { Ok(text) } else { Err(format!("never closed: {open:?}")) }
}

/// The tag up to its `>`, which must stand outside of quotes, and what follows it.
fn split_tag(tag: &str) -> Result<(&str, &str), String> {
    let mut quoted = false;
    for (at, c) in tag.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '>' if !quoted => return Ok((&tag[..at], &tag[at + 1..])),
            '<' => break,
            _ => {}
        }
    }
    Err(format!("a tag without an end: <{}", tag.chars().take(80).collect::<String>()))
}

/// Checks a start tag; its name if an end tag must follow.
fn start_tag(tag: &str) -> Result<Option<String>, String> {
    let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |t| (t, true));
    let (name, mut rest) = tag.split_once([' ', '\n']).unwrap_or((tag, ""));
    if !knows(&ELEMENTS, name) {
        return Err(format!("element <{name}>"));
    }
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            break;
        }
        let end = rest.find([' ', '\n', '=']).unwrap_or(rest.len());
        let (attribute, after) = rest.split_at(end);
        let Some(after) = after.strip_prefix('=') else {
            check(attribute, "")?;
            rest = after;
            continue;
        };
        let (value, after) =
            after.strip_prefix('"').and_then(|a| a.split_once('"')).ok_or(format!("{attribute} is not quoted"))?;
        check(attribute, value)?;
        rest = after;
    }
    Ok((!closed && !knows(&VOID, name)).then(|| name.to_owned()))
}

fn check(attribute: &str, value: &str) -> Result<(), String> {
    if !knows(&ATTRIBUTES, &attribute.to_ascii_lowercase()) {
        return Err(format!("attribute {attribute}"));
    }
    let value = resolve(value)?;
    let leads = matches!(attribute, "href" | "action");
    let own = value.starts_with('#') || (value.starts_with('/') && !value.starts_with("//") && !value.contains('\\'));
    if leads && !own { Err(format!("{attribute} leads to {value}")) } else { Ok(()) }
}

fn knows(list: &Names, name: &str) -> bool {
    list.contains(name)
}

/// Resolves numeric entities; a bare `&`, `"`… in text would be a value that was not escaped.
fn resolve(text: &str) -> Result<String, String> {
    let mut parts = text.split('&');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let entity = part.strip_prefix('#').and_then(|p| p.split_once(';'));
        let (code, after) = entity.ok_or(format!("a bare & before {part:.40}"))?;
        out.push(code.parse().ok().and_then(char::from_u32).ok_or(format!("entity {code}"))?);
        out.push_str(after);
    }
    if text.contains('>') { Err(format!("a bare > in {text:.80}")) } else { Ok(out) }
}

#[test]
fn the_oracle_itself_refuses_what_a_template_would_not_write() {
    let page = |inner: &str| format!("<!doctype html><body>{inner}</body>");
    assert_eq!(text_of(&page("<p class=\"a\">x &#38; <b>y</b></p>")), Ok("x & y".to_owned()));
    for bad in [
        "<script>1</script>",
        "<img src=\"x\">",
        "<p onclick=\"x\">",
        "<p style=\"x\">",
        "<a href=\"javascript:1\">x</a>",
        "<a href=\"//evil\">x</a>",
        "<a href=\"http://evil\">x</a>",
        "<p class=a>x</p>",
        "<p><b>x</p></b>",
        "<p>x",
        "<p class=\"a\" x\">",
        "a & b",
        "a > b",
        "<",
        "<!-- x -->",
        "&lt;",
    ] {
        assert!(text_of(&page(bad)).is_err(), "{bad} was taken");
    }
}
