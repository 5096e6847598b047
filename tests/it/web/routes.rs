//! The routes over real HTTP: headers, who may ask, what a form may say, and what an error tells.

use super::client::{Answer, FAILING, FORM, PANICKING, RUN, Service};
use super::markup::text_of;

const CSP: &str =
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The fields of a form that is taken.
const GOOD: [(&str, &str); 9] = [
    ("issue", "00000000-0000-0000-0000-00000000002a"),
    ("repository", "00000000-0000-0000-0000-000000000001"),
    ("title", "Rounding loses a cent"),
    ("body", "first\r\nsecond"),
    ("done", "- [ ] it adds up\r\n"),
    ("base", ""),
    ("passes", "4"),
    ("money", "2.50"),
    ("clock", "1 h 30 min"),
];

/// The good fields with some of them changed.
fn with<'a>(changed: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    GOOD.into_iter()
        .map(|(name, value)| (name, changed.iter().find(|(n, _)| *n == name).map_or(value, |(_, v)| *v)))
        .collect()
}

/// Every kind of answer that the service gives.
fn every_answer(service: &Service) -> Vec<(&'static str, u16, Answer)> {
    let css = format!("/static/{}/app.css", countersign::web::assets::version());
    let host = service.host();
    let own = [("host", host.as_str())];
    vec![
        ("the runs", 200, service.get("/")),
        ("the form", 200, service.get("/delegate")),
        ("a run", 200, service.get(&format!("/runs/{RUN}"))),
        ("a pull request", 200, service.get(&format!("/runs/{RUN}/pull-request"))),
        ("the style sheet", 200, service.get(&css)),
        ("the icon", 200, service.get(&css.replace("app.css", "icon.svg"))),
        ("only the head", 200, service.send("HEAD", "/", &own, b"")),
        ("a form taken", 303, service.post("/delegate", &GOOD)),
        ("a form refused", 422, service.post("/delegate", &with(&[("title", " ")]))),
        ("no such page", 404, service.get("/nothing")),
        ("another style sheet", 404, service.get("/static/000000000000/app.css")),
        ("no such file", 404, service.get(&css.replace("app.css", "../../Cargo.toml"))),
        ("no such run", 404, service.get("/runs/00000000-0000-0000-0000-0000000000ff")),
        ("no run id", 404, service.get("/runs/%3Cscript%3E")),
        ("no text", 404, service.get("/runs/%ff%00")),
        ("no text in a file's address", 404, service.get("/static/%ff/app.css")),
        ("no pull request", 404, service.get(&format!("/runs/{FAILING}/pull-request"))),
        ("another method", 405, service.post("/", &[])),
        (
            "an unknown method",
            405,
            service.send("PURGE", "/delegate", &[("host", &host), ("sec-fetch-site", "same-origin")], b""),
        ),
        ("options", 405, service.send("OPTIONS", "/", &own, b"")),
        ("a foreign host", 421, service.send("GET", "/", &[("host", "evil.example")], b"")),
        (
            "a foreign origin",
            403,
            service.send("POST", "/delegate", &[("host", &host), ("sec-fetch-site", "cross-site"), FORM], b"title=x"),
        ),
        (
            "no form",
            415,
            service.send(
                "POST",
                "/delegate",
                &[("host", &host), ("sec-fetch-site", "same-origin"), ("content-type", "application/json")],
                b"{}",
            ),
        ),
        ("a failure", 500, service.get(&format!("/runs/{FAILING}"))),
        ("a panic", 500, service.get(&format!("/runs/{PANICKING}"))),
        ("a failure behind a form", 500, service.post("/delegate", &with(&[("base", "broken")]))),
    ]
}

#[test]
fn every_answer_carries_the_security_headers_and_an_id_of_its_own() {
    let service = Service::start();
    let mut ids = std::collections::BTreeSet::new();
    for (what, status, answer) in every_answer(&service) {
        assert_eq!(answer.status, status, "{what}: {}", answer.body);
        assert_eq!(answer.header("content-security-policy"), CSP, "{what}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{what}");
        assert_eq!(answer.header("x-frame-options"), "DENY", "{what}");
        assert_eq!(answer.header("referrer-policy"), "same-origin", "{what}");
        assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin", "{what}");
        assert_eq!(answer.header("cross-origin-opener-policy"), "same-origin", "{what}");
        let kept = what == "the style sheet" || what == "the icon";
        assert_eq!(
            answer.header("cache-control"),
            if kept { "public, max-age=31536000, immutable" } else { "no-store" },
            "{what}"
        );
        assert!(answer.header("set-cookie").is_empty(), "{what} sets a cookie");
        assert!(ids.insert(answer.header("x-request-id").to_owned()), "{what} has the id of another request");
    }
}

#[test]
fn every_answer_but_a_file_and_a_redirect_is_a_whole_page() {
    let service = Service::start();
    for (what, status, answer) in every_answer(&service) {
        if matches!(what, "the style sheet" | "the icon" | "only the head") || status == 303 {
            continue;
        }
        assert_eq!(answer.header("content-type"), "text/html; charset=utf-8", "{what}");
        let text = text_of(&answer.body).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(text.contains("has no sign-in yet"), "{what} does not say that there is no sign-in");
        if status >= 400 && status != 422 {
            assert!(text.contains(answer.header("x-request-id")), "{what} does not name its request");
            assert!(!text.contains("secret"), "{what} shows its cause");
        }
    }
}

#[test]
fn an_unknown_method_says_which_ones_there_are() {
    let service = Service::start();
    assert_eq!(service.post("/", &[]).header("allow"), "GET,HEAD");
    let host = service.host();
    let put = service.send("PUT", "/delegate", &[("host", &host), ("sec-fetch-site", "same-origin")], b"");
    assert_eq!((put.status, put.header("allow")), (405, "GET,HEAD,POST"));
}

#[test]
fn the_service_lives_on_after_a_panic() {
    let service = Service::start();
    for _ in 0..20 {
        assert_eq!(service.get(&format!("/runs/{PANICKING}")).status, 500);
    }
    assert_eq!(service.get("/").status, 200);
}

#[test]
fn no_foreign_page_can_delegate() {
    let service = Service::start();
    let (host, origin) = (service.host(), format!("http://{}", service.host()));
    let body = GOOD.map(|(n, v)| format!("{n}={}", super::client::encoded(v))).join("&");
    let post = |headers: &[(&str, &str)]| {
        service.send("POST", "/delegate", &[headers, &[FORM]].concat(), body.as_bytes()).status
    };
    let foreign: [&[(&str, &str)]; 9] = [
        &[("host", &host)],
        &[("host", &host), ("origin", "http://evil.example")],
        &[("host", &host), ("origin", "null")],
        &[("host", &host), ("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")],
        &[("host", &host), ("origin", "http://localhost:1"), ("sec-fetch-site", "same-site")],
        &[("host", &host), ("sec-fetch-site", "none")],
        &[("host", &host), ("origin", &origin), ("sec-fetch-site", "cross-site")],
        &[("host", "evil.example"), ("origin", "http://evil.example"), ("sec-fetch-site", "same-origin")],
        &[("host", &host), ("x-forwarded-host", &host), ("referer", &origin)],
    ];
    for headers in foreign {
        let refused = post(headers);
        assert!(refused == 403 || refused == 421, "{headers:?} got {refused}");
    }
    assert_eq!(service.taken(), [], "a refused request delegated");
    assert_eq!(post(&[("host", &host), ("origin", &origin)]), 303);
    assert_eq!(post(&[("host", &host), ("origin", "null"), ("sec-fetch-site", "same-origin")]), 303);
    assert_eq!(service.taken().len(), 2);
}

#[test]
fn a_form_that_is_right_delegates_what_was_typed_and_leads_to_the_run() {
    let service = Service::start();
    let answer = service.post("/delegate", &GOOD);
    assert_eq!((answer.status, answer.header("location")), (303, format!("/runs/{RUN}").as_str()));
    let [taken] = service.taken().try_into().expect("exactly one delegation");
    assert_eq!(taken.issue.to_string(), GOOD[0].1);
    assert_eq!(taken.title, "Rounding loses a cent");
    assert_eq!(taken.body, "first\nsecond");
    assert_eq!(taken.done, ["it adds up"]);
    assert_eq!(taken.base, "main", "the repository's own branch");
    assert_eq!((taken.passes, taken.money.to_string(), taken.clock.as_secs()), (4, "$2.50".to_owned(), 5_400));
}

#[test]
fn a_form_sent_twice_is_one_issue() {
    let service = Service::start();
    let form = service.get("/delegate").body;
    let (_, after) = form.split_once("name=\"issue\" value=\"").expect("the form carries the issue's id");
    let id = after.split('"').next().expect("a quoted value");
    for _ in 0..2 {
        service.post("/delegate", &with(&[("issue", id)]));
    }
    let ids: Vec<_> = service.taken().into_iter().map(|t| t.issue.to_string()).collect();
    assert_eq!(ids, [id, id]);
    assert!(!service.get("/delegate").body.contains(id), "the next form is another issue");
}

#[test]
fn a_form_that_is_wrong_comes_back_with_what_was_typed_and_what_would_be_right() {
    let service = Service::start();
    let many = "x\n".repeat(51);
    let wrong = [
        ("repository", "", "Repository: No repository is chosen"),
        ("repository", "00000000-0000-0000-0000-0000000000ff", "Choose one from the list"),
        ("title", "", "The title is empty. Say in one line"),
        ("title", "a\nb", "The title has a line break"),
        ("title", &"é".repeat(201), "The title has 201 characters, and at most 200 fit"),
        ("body", &"é".repeat(40_000), "The body has 80,000 bytes, and at most 65,536 (64 KiB) fit"),
        ("body", "a\nb\0", "Line 2 holds a NUL character"),
        ("done", &many, "There are 51 items, and at most 50 fit"),
        ("done", &"y".repeat(1_001), "Item 1 has 1,001 characters, and at most 1,000 fit"),
        ("base", "a..b", "Base branch: This is not a name that git takes for a branch"),
        ("base", "missing", "There is no branch `missing`; there is `main`."),
        ("passes", "0", "a whole number from 1 to 20"),
        ("passes", "21", "a whole number from 1 to 20"),
        ("passes", "NaN", "a whole number from 1 to 20"),
        ("money", "1,50", "Write a point before the cents, like $1.50"),
        ("money", "-1", "This is not an amount in dollars"),
        ("money", "NaN", "This is not an amount in dollars"),
        ("money", "0.001", "$0.0010 is outside what a run can have. The ceiling is between $0.01 and $1000.00"),
        ("money", "1000.01", "$1000.01 is outside"),
        ("clock", "1,5 h", "This is not a length of time"),
        ("clock", "30 s", "30 s is outside what a run can have. The limit is between 1 min and 24 h"),
        ("clock", "25 h", "25 h is outside"),
    ];
    for (field, typed, said) in wrong {
        let answer = service.post("/delegate", &with(&[(field, typed)]));
        assert_eq!(answer.status, 422, "{field}={typed:.40}");
        let text = text_of(&answer.body).unwrap_or_else(|e| panic!("{field}={typed:.40}: {e}"));
        assert!(text.contains(said), "{field}={typed:.40} does not say {said:?}");
        assert!(answer.body.contains(&format!("href=\"#{field}\"")), "{field} is not named");
        for (other, value) in GOOD {
            let kept =
                if other == field { typed } else { value }.replace("\r\n", "\n").trim_end_matches('\n').to_owned();
            let shown = answer.body.contains(&kept)
                || text.contains(&kept)
                || (other, kept.as_str()) == ("repository", "00000000-0000-0000-0000-0000000000ff");
            assert!(shown, "{other} was lost when {field}={typed:.40}");
        }
        assert_eq!(service.taken(), []);
    }
}

#[test]
fn what_no_field_can_mend_is_said_at_the_top_and_beside_no_field() {
    let service = Service::start();
    let answer = service.post("/delegate", &with(&[("base", "no-provider")]));
    assert_eq!(answer.status, 422);
    let text = text_of(&answer.body).expect("a whole page");
    assert!(text.contains("Not sent yet: the service is not set up for it"), "{text}");
    assert_eq!(text.matches("The provider p is not set up on this machine.").count(), 1, "{text}");
    assert!(!answer.body.contains("aria-invalid"), "a field is blamed");
    assert!(answer.body.contains("value=\"Rounding loses a cent\""), "what was typed is lost");
}

#[test]
fn an_error_stands_beside_its_field_and_is_announced() {
    let service = Service::start();
    let wrong = [
        ("repository", ""),
        ("title", ""),
        ("body", "\0"),
        ("done", "\0"),
        ("base", "a..b"),
        ("passes", "x"),
        ("money", "x"),
        ("clock", "x"),
    ];
    for (field, typed) in wrong {
        let body = service.post("/delegate", &with(&[(field, typed)])).body;
        let (_, tag) = body.split_once(&format!(" id=\"{field}\"")).expect("the field is there");
        let tag = tag.split_once('>').expect("a whole tag").0;
        assert!(tag.contains("aria-invalid=\"true\""), "{field} is not marked");
        assert!(tag.contains(&format!("aria-describedby=\"{field}-problem {field}-hint\"")), "{field}: {tag}");
        let (_, after) = body.split_once(&format!(" id=\"{field}-problem\">")).expect("the error is beside it");
        assert!(!after.trim_start().starts_with('<'), "the error of {field} is empty");
        assert_eq!(body.matches("aria-invalid").count(), 1, "another field than {field} is marked");
        assert!(body.contains("role=\"alert\""), "the error of {field} is not announced");
    }
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let service = Service::start();
    let answer = service.post("/delegate", &[]);
    assert_eq!(answer.status, 422);
    let text = text_of(&answer.body).expect("a whole page");
    assert!(text.contains("5 fields need a change"), "{text}");
}

#[test]
fn a_title_in_any_script_arrives_as_it_was_typed() {
    let service = Service::start();
    for title in [
        "日付が一日ずれる",
        "خطأ في التقريب",
        "शून्य‍ता त्रुटि",
        "Ошибка округления",
        "שגיאת עיגול",
        "👩‍💻 breaks",
        "a\u{301}e\u{308}",
        "<b>&amp;\"'",
        "'; DROP TABLE runs; --",
        "%00%0a",
        "${jndi:x}",
    ] {
        let answer = service.post("/delegate", &with(&[("title", title)]));
        assert_eq!(answer.status, 303, "{title}");
        assert_eq!(service.taken()[0].title, title);
        let back = service.post("/delegate", &with(&[("title", title), ("passes", "0")]));
        let field = format!(
            "value=\"{}\"",
            title
                .replace('&', "&#38;")
                .replace('"', "&#34;")
                .replace('<', "&#60;")
                .replace('>', "&#62;")
                .replace('\'', "&#39;")
        );
        assert!(back.body.contains(&field), "{title} did not come back in its field");
    }
}

#[test]
fn ten_megabytes_get_a_page_that_says_how_much_fits() {
    let service = Service::start();
    let body = "x".repeat(10 << 20);
    let answer = service.post("/delegate", &with(&[("body", &body)]));
    assert_eq!(answer.status, 413);
    let text = text_of(&answer.body).expect("a whole page");
    assert!(text.contains("larger than 1024 KiB") && text.contains("Back button"), "{text}");
    assert_eq!(service.taken(), []);
    assert_eq!(service.get("/").status, 200);
}

#[test]
fn a_body_just_under_the_limit_is_judged_by_its_fields() {
    let service = Service::start();
    let answer = service.post("/delegate", &with(&[("body", &"x".repeat(1_000_000))]));
    assert_eq!(answer.status, 422);
    assert!(answer.body.contains("The body has 1,000,000 bytes"));
}

#[test]
fn bytes_that_are_no_form_and_no_text_change_nothing() {
    let service = Service::start();
    let host = service.host();
    let headers = [("host", host.as_str()), ("sec-fetch-site", "same-origin"), FORM];
    for body in [&b"\xff\xfe\x00=%zz&&&===&title=%"[..], b"%", b"=", b"title", &[0; 4096]] {
        let answer = service.send("POST", "/delegate", &headers, body);
        assert_eq!(answer.status, 422, "{body:.20?}");
        text_of(&answer.body).unwrap_or_else(|e| panic!("{body:.20?}: {e}"));
    }
    assert_eq!(service.taken(), []);
}

/// Whoever holds connections without a word keeps nobody else from being answered, and hidden bytes get no further than
/// a refusal.
#[test]
fn no_bytes_on_the_wire_bring_the_service_down() {
    let service = Service::start();
    let host = service.host();
    let _idle: Vec<_> = (0..200).map(|_| service.raw(b"GET / HTTP/1.1\r\nhost: ").0).collect();
    let css = format!("/static/{}", countersign::web::assets::version());
    let long = "a".repeat(60 << 10);
    let mut paths = vec![
        "/runs/..%2f..%2fetc%2fpasswd".to_owned(),
        "/runs/%2e%2e/%2e%2e/serve.lock".to_owned(),
        "//runs//".to_owned(),
        "/runs/0/../../x".to_owned(),
        "/runs/99999999999999999999999999999999999999999999999999".to_owned(),
        "/runs/-1".to_owned(),
        "/runs/%c0%af%c0%ae".to_owned(),
        "/runs/%e2%80%ae%00/pull-request".to_owned(),
        "/runs/{00000000-0000-0000-0000-0000000000ff}".to_owned(),
        format!("/runs/{long}"),
        format!("/?{long}"),
    ];
    for name in ["..%2f..%2fCargo.toml", "%2e%2e/app.css", "app.css%00", "app.css/", "App.css", "..;/app.css"] {
        paths.push(format!("{css}/{name}"));
    }
    for path in paths {
        let (status, _) =
            service.raw_status(&format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"));
        let known = path.starts_with("/?");
        let shown = &path[..path.len().min(60)];
        assert!(
            if known { [200, 414].contains(&status) } else { [400, 404, 414].contains(&status) },
            "{shown}: {status}"
        );
    }
    let many = "x: y\r\n".repeat(5_000);
    for (request, expected) in [
        (format!("GET http://evil.example/ HTTP/1.1\r\nhost: {host}\r\n"), 421),
        (format!("GET / HTTP/1.1\r\nhost: {host}\r\nhost: evil.example\r\n"), 421),
        (format!("GET / HTTP/1.1\r\nhost: {host}@evil.example\r\n"), 421),
        ("GET / HTTP/1.0\r\n".to_owned(), 421),
        (format!("TRACE / HTTP/1.1\r\nhost: {host}\r\n"), 405),
        (format!("DELETE /delegate HTTP/1.1\r\nhost: {host}\r\n"), 403),
        (format!("CONNECT {host} HTTP/1.1\r\nhost: {host}\r\n"), 403),
        (format!("GET / HTTP/1.1\r\nhost: {host}\r\n{many}"), 431),
        (format!("GET / HTTP/1.1\r\nhost: {host}\r\nx: {long}{long}\r\n"), 431),
        (format!("GET / HTTP/9.9\r\nhost: {host}\r\n"), 400),
    ] {
        let (status, answer) = service.raw_status(&format!("{request}connection: close\r\n\r\n"));
        let shown = &request[..request.len().min(80)];
        assert_eq!(status, expected, "{shown}: {}", &answer[..answer.len().min(300)]);
    }
    assert_eq!(service.taken(), []);
    assert_eq!(service.get("/").status, 200);
}
