//! Whatever text comes from outside, in whatever slot of whatever page: it is shown, and it is never markup.

use super::looks::all;
use super::markup::text_of;

/// Each breaks out of somewhere: of text, of an attribute in either quotes or none, of a title, a text area, a comment, a URL.
pub(crate) const PAYLOADS: [&str; 48] = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<scr<script>ipt>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<img src=\"x\" onerror=\"alert(1)\">",
    "<svg onload=alert(1)>",
    "<svg/onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<math><mtext></mtext><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
    "<iframe src=javascript:alert(1)>",
    "<iframe srcdoc=\"<script>alert(1)</script>\">",
    "<object data=javascript:alert(1)>",
    "<embed src=javascript:alert(1)>",
    "<base href=//evil.example/>",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<style>*{background:url(//evil.example)}</style>",
    "<form action=//evil.example><input name=x>",
    "<button formaction=javascript:alert(1)>x</button>",
    "<details open ontoggle=alert(1)>",
    "<body onload=alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "<a href=\"data:text/html,<script>alert(1)</script>\">x</a>",
    "<x onclick=alert(1)>",
    "\" onmouseover=\"alert(1)",
    "\" autofocus onfocus=alert(1) x=\"",
    "' onmouseover='alert(1)",
    "\"><script>alert(1)</script>",
    "'><script>alert(1)</script>",
    "\"/><svg onload=alert(1)>",
    "</title><script>alert(1)</script>",
    "</textarea><script>alert(1)</script>",
    "</pre></code></details></main><script>alert(1)</script>",
    "</option></select><script>alert(1)</script>",
    "--><script>alert(1)</script><!--",
    "<!--",
    "<![CDATA[<script>alert(1)</script>]]>",
    "]]><script>alert(1)</script>",
    "<?xml version=\"1.0\"?><script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "&\u{ff1c}script\u{ff1e}",
    "javascript:alert(1)",
    "//evil.example/\\..\\",
    "{{ 7 * 7 }}{% include \"/etc/passwd\" %}",
    "<a id=main name=body><input name=attributes>",
    "x\u{85}<\u{a0}b>",
];

#[test]
fn no_text_in_any_slot_becomes_markup() {
    for payload in PAYLOADS {
        for (name, html) in all(&|_| payload.to_owned()) {
            let text = text_of(&html).unwrap_or_else(|e| panic!("{payload:?} broke out in {name}: {e}"));
            if name.starts_with("run-") || name == "home" || name.starts_with("pull") {
                let visible = payload.replace('\u{85}', "⟨U+0085⟩");
                assert!(text.contains(&visible), "{payload:?} is not shown in {name}");
            }
        }
    }
}

/// Newlines, controls, bidirectional overrides, and text that looks like what the pages parse.
#[test]
fn odd_text_in_any_slot_leaves_a_whole_page() {
    let long = "x".repeat(20_000);
    let odd = [
        "",
        " ",
        "\n",
        "a\r\n\r\nb",
        "\0",
        "\u{1b}]8;;https://evil.example\u{7}x",
        "\u{202e}gnp.exe",
        "\u{feff}",
        "`",
        "``",
        "```",
        "```\n",
        "`<b>`",
        "```html\n<script>\n```",
        "\u{fffe}",
        "é",
        "日本語",
        "العربية",
        "👩‍💻",
        "𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
        "\u{e0041}",
        &long,
    ];
    for text in odd {
        for (name, html) in all(&|_| text.to_owned()) {
            text_of(&html).unwrap_or_else(|e| panic!("{text:.40?} broke {name}: {e}"));
        }
    }
}

#[test]
fn what_cannot_be_seen_is_written_out() {
    for (name, html) in all(&|_| "a\u{202e}b\u{200b}c".to_owned()) {
        let shown = html.contains("a⟨U+202E⟩b⟨U+200B⟩c");
        assert!(!html.contains('\u{202e}') || name.starts_with("delegate"), "{name} hides a direction override");
        assert!(
            shown
                || name.starts_with("delegate")
                || name.starts_with("error")
                || name.ends_with("empty")
                || name.ends_with("repository"),
            "{name}"
        );
    }
}

#[test]
fn no_template_turns_escaping_off() {
    let mut seen = 0;
    let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/templates"))];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the templates are there") {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "html") {
                let template = std::fs::read_to_string(&path).expect("a template is text");
                for word in ["|safe", "| safe", "|e(", "|escape", "<script", "style=", " on"] {
                    let found = template.match_indices(word).any(|(at, _)| word != " on" || handler(&template[at..]));
                    assert!(!found, "{} has {word}", path.display());
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 8, "only {seen} templates were read");
}

/// ` onclick=` and its kin.
fn handler(text: &str) -> bool {
    text.trim_start().split_once('=').is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_alphabetic()))
}
