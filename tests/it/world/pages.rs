//! Real runs as the real server shows them: whatever the agents, the repository and the issue say, it stays text.

use serde_json::json;

use countersign::model_server::FaultKind;

use super::base::{Asked, FOURTH, NOTES, World, git};
use super::outside::{Outside, until};
use super::words::{bash, faulty, once, reads, rejects, says, script};
use crate::web::escaping::PAYLOADS;
use crate::web::markup::text_of;

#[tokio::test(flavor = "multi_thread")]
async fn while_a_run_waits_for_its_provider_its_page_says_so() {
    let busy = FaultKind::Status { status: 529, retry_after: None };
    let words = script([once("implementer", vec![faulty(bash(FOURTH), busy, None)])]);
    let outside = Outside::new(NOTES, words).await;
    let process = outside.serve().await;
    let page = process.delegate().await;
    let shown = until("the page tells of a wait", async || {
        let shown = process.page(&page).await;
        shown.contains("so far in this step").then_some(shown)
    })
    .await;
    assert!(shown.contains("Waiting: the provider is overloaded, down or out of reach"), "{shown}");
    assert!(process.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_the_provider_turned_away_says_why_in_its_first_sentence() {
    let denied = FaultKind::Status { status: 401, retry_after: None };
    let words = script([once("implementer", vec![faulty(bash(FOURTH), denied, None)])]);
    let world = World::new(NOTES, words).await;
    let address = world.started.serve_pages(([127, 0, 0, 1], 0).into()).await.unwrap();
    let run = world.delegate(Asked::default()).await.unwrap();
    world.end_of(run).await;
    for path in ["/".to_owned(), format!("/runs/{run}")] {
        let text = text_of(&page(address, &path).await).unwrap();
        assert!(text.contains("nothing to deliver: the provider takes neither our key nor our account"), "{text}");
    }
    let shown = page(address, &format!("/runs/{run}")).await;
    assert!(shown.contains("Nothing was written and nothing was pushed."), "{shown}");
    world.close(run).await;
}

/// The first line of every payload, as one text that fits where lines do.
fn bank() -> String {
    PAYLOADS.map(|p| p.replace(['\n', '\u{85}'], " ")).join("\n")
}

async fn page(address: std::net::SocketAddr, path: &str) -> String {
    let answer = reqwest::get(format!("http://{address}{path}")).await.unwrap();
    assert_eq!(answer.status().as_u16(), 200, "{path}");
    answer.text().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_which_everything_is_hostile_is_shown_as_text_on_every_page() {
    const TITLE: &str = "<script>alert(1)</script> \"><img src=x onerror=alert(1)> Fixes #12 @octocat";
    let settings = format!(
        "[[check]]\nname = '<img src=x>'\nrequired = false\ncommand = '''\ncat <<'END'\n{}\nEND\nexit 1'''\n",
        bank()
    );
    let scratch = tempfile::tempdir().unwrap();
    let remote = scratch.path().join("remote.git");
    let files = [("notes.txt", "first\n"), (".countersign.toml", settings.as_str())];
    countersign::app::make_repository(&remote, &files).unwrap();
    git(&remote, &["branch", "\"onload=alert(1)<b>", "main"]);
    let finding = json!({"severity": "high", "cite": "notes.txt:1", "text": bank(), "evidence": bank()});
    let write = "echo '<b>' > '<img src=x onerror=alert(1)>.txt'; echo '</pre><script>' >> notes.txt";
    let words = script([once("implementer", vec![bash(write), says(&bank())]), reads(rejects(&[finding]))]);
    let world = World::over(scratch, remote.clone(), words, |_| ()).await;
    let name = "<svg onload=alert(1)>";
    world.started.app.add_repository(name, &remote.display().to_string()).await.unwrap();
    let address = world.started.serve_pages(([127, 0, 0, 1], 0).into()).await.unwrap();
    let asked = Asked { title: TITLE, body: bank(), base: "\"onload=alert(1)<b>", passes: 1, ..Asked::default() };
    let run = world.delegate(asked).await.unwrap();
    world.end_of(run).await;
    let mut all = String::new();
    for path in ["/".to_owned(), "/delegate".to_owned(), format!("/runs/{run}"), format!("/runs/{run}/pull-request")] {
        let text =
            text_of(&page(address, &path).await).unwrap_or_else(|e| panic!("something broke out in {path}: {e}"));
        all.push_str(&text);
    }
    for shown in [TITLE, name, "<img src=x onerror=alert(1)>.txt", "<iframe src=javascript:alert(1)>"] {
        assert!(all.contains(shown), "{shown} is not shown");
    }
    let told = world.close(run).await;
    let commit = told.git(&["log", "-1", "--format=%B", told.branch()]);
    assert!(commit.contains("octocat"), "the title is in the commit: {commit}");
    for active in ["#12", "@octocat"] {
        assert!(!commit.contains(active), "{active} is active in {commit}");
    }
    let body = told.pull.unwrap().body;
    for active in ["#12", "@octocat", "<!--", "](http"] {
        assert!(!body.contains(active), "{active} is active in {body}");
    }
}
