//! Every sample of every page, written to a directory to be looked at.

use askama::Template;
use countersign::web::page::Page;
use countersign::web::pages::{delegate, error, home, pull_request, run};

/// Renders all samples of all pages, `say` making every text.
pub(super) fn all(say: &dyn Fn(&str) -> String) -> Vec<(&'static str, String)> {
    fn html<T: Template>(samples: Vec<(&'static str, T)>) -> Vec<(&'static str, String)> {
        samples
            .into_iter()
            .map(|(name, view)| (name, Page(view).html().unwrap_or_else(|e| panic!("{name}: {e}"))))
            .collect()
    }
    let pages = [
        html(home::samples(say)),
        delegate::samples::samples(say)
            .into_iter()
            .map(|(name, view)| (name, view.render().unwrap_or_else(|e| panic!("{name}: {e}"))))
            .collect(),
        html(run::samples::samples(say)),
        html(pull_request::samples(say)),
        html(error::samples(say)),
    ];
    pages.concat()
}

/// Writes the pages and the style sheet to `pages/` in the directory that Cargo keeps for tests, beside one another.
#[test]
fn every_sample_of_every_page_renders() {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&directory).expect("the build directory is writable");
    let pages = all(&str::to_owned);
    for (name, html) in &pages {
        assert!(html.contains("<main"), "{name} has no content");
        let beside = html.replace(&format!("/static/{}/", countersign::web::assets::version()), "");
        std::fs::write(directory.join(format!("{name}.html")), beside).expect("a page can be written");
    }
    for (name, content) in
        [("app.css", include_str!("../../../static/app.css")), ("icon.svg", include_str!("../../../static/icon.svg"))]
    {
        std::fs::write(directory.join(name), content).expect("a file can be written");
    }
    assert!(pages.len() > 25, "{} pages", pages.len());
}
