//! The style sheet: nothing from elsewhere, and colours that can be read in both themes.

use std::collections::BTreeMap;

const STYLE: &str = include_str!("../../../static/app.css");

#[test]
fn nothing_is_loaded_from_elsewhere() {
    for word in ["url(", "@import", "@font-face", "http:", "https:", "expression("] {
        assert!(!STYLE.contains(word), "the style sheet has {word}");
    }
    assert!(!include_str!("../../../static/icon.svg").contains("script"));
}

/// Text on the ground it stands on.
const PAIRS: [(&str, &str); 34] = [
    ("text", "ground"),
    ("text", "surface"),
    ("text", "sunk"),
    ("text", "claim"),
    ("text", "live-soft"),
    ("text", "bad-soft"),
    ("text", "added"),
    ("text", "removed"),
    ("text", "added-word"),
    ("text", "removed-word"),
    ("muted", "ground"),
    ("muted", "surface"),
    ("muted", "sunk"),
    ("muted", "claim"),
    ("muted", "live-soft"),
    ("muted", "added"),
    ("muted", "removed"),
    ("good", "surface"),
    ("good", "good-soft"),
    ("good", "sunk"),
    ("good", "added"),
    ("bad", "surface"),
    ("bad", "bad-soft"),
    ("bad", "sunk"),
    ("bad", "removed"),
    ("warn", "surface"),
    ("warn", "warn-soft"),
    ("warn", "live-soft"),
    ("warn", "sunk"),
    ("live", "surface"),
    ("live", "live-soft"),
    ("plain", "plain-soft"),
    ("claim-word", "claim"),
    ("on-accent", "accent"),
];

/// The least contrast of text by WCAG 2.2, level AA.
const LEAST: f64 = 4.5;

#[test]
fn every_text_can_be_read_on_its_ground_in_both_themes() {
    let (light, rest) = STYLE.split_once("@media (prefers-color-scheme: dark)").expect("two themes");
    let (dark, _) = rest.split_once("/* ---- Ground").expect("the themes come first");
    for (theme, sheet) in [("light", light), ("dark", dark)] {
        let colours = colours(sheet);
        for (text, ground) in PAIRS {
            let found = contrast(luminance(colours[text]), luminance(colours[ground]));
            assert!(found >= LEAST, "{theme}: {text} on {ground} is {found:.2}");
        }
    }
}

/// The custom properties of a sheet that are colours.
fn colours(sheet: &str) -> BTreeMap<&str, u32> {
    let lines = sheet.lines().filter_map(|line| line.trim().strip_prefix("--")?.split_once(": #"));
    lines.map(|(name, hex)| (name, u32::from_str_radix(hex.trim_end_matches(';'), 16).expect("six digits"))).collect()
}

fn luminance(colour: u32) -> f64 {
    let channel = |shift: u32| {
        let part = f64::from((colour >> shift) & 0xff) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(16) + 0.7152 * channel(8) + 0.0722 * channel(0)
}

fn contrast(a: f64, b: f64) -> f64 {
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}
