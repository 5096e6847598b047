//! A service that ends in the middle of a step, by request or by force, and is started again.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::base::{FOURTH, NOTES, git};
use super::outside::{Outside, Process, processes_of, until};
use super::words::{approves, reads, script, writes};

/// The first writing step never ends by itself; the one after it does the work.
async fn in_mid_step() -> (Outside, Process, String) {
    let words = script([writes(&["sleep 100000"]), writes(&[FOURTH]), reads(approves())]);
    let outside = Outside::new(NOTES, words).await;
    let process = outside.serve().await;
    let page = process.delegate().await;
    until("the implementer is at work", async || {
        processes_of(outside.scratch.path()).iter().any(|c| c.contains("sleep 100000")).then_some(())
    })
    .await;
    (outside, process, page)
}

async fn goes_on(outside: &Outside, page: &str) {
    let process = outside.serve().await;
    let shown = until("the run ends", async || {
        let shown = process.page(page).await;
        shown.contains("pull-request").then_some(shown)
    })
    .await;
    assert!(shown.contains("Accepted"), "{shown}");
    let (first, second) = shown.rsplit_once("Worked on the issue").unwrap();
    assert!(first.contains("while it ran; it began again.") && !first.contains("Against the base"), "{first}");
    assert!(second.contains("Against the base"), "what the second try came to stands under the second: {second}");
    assert!(process.stop().success());

    let store = outside.store().await;
    let runs = store.list_runs(10).await.unwrap();
    assert_eq!(runs.len(), 1, "the run was not begun anew");
    assert_eq!(runs[0].outcome.as_deref(), Some("accepted(countersigned)"));
    let run = store.load(runs[0].id).await.unwrap();
    assert_eq!(run.passes.len(), 1, "what was cut costs no pass");
    assert_eq!(run.spent, runs[0].committed, "every picodollar that was taken is on some step");
    let branches = git(&outside.remote, &["for-each-ref", "--format=%(refname)", "refs/heads/countersign/"]);
    assert_eq!(branches.lines().count(), 1, "{branches}");
    assert_eq!(git(&outside.remote, &["show", &format!("{branches}:notes.txt")]), "first\nsecond\nthird\nfourth");
    assert_eq!(processes_of(outside.scratch.path()), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_asked_to_stop_ends_its_steps_and_goes_on_from_there() {
    let (outside, process, page) = in_mid_step().await;
    let log = process.said();
    assert!(process.stop().success(), "{log}");
    assert_eq!(processes_of(outside.scratch.path()), Vec::<String>::new(), "nothing outlives the service");
    goes_on(&outside, &page).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_killed_leaves_no_process_and_goes_on_from_there() {
    let (outside, process, page) = in_mid_step().await;
    process.kill();
    until("the sandbox dies with its service", async || processes_of(outside.scratch.path()).is_empty().then_some(()))
        .await;
    goes_on(&outside, &page).await;
}

/// A browser that keeps its connection open is answered to the end; one that never says what it wants is cut.
#[tokio::test(flavor = "multi_thread")]
async fn no_browser_holds_up_the_end_of_the_service() {
    let outside = Outside::new(NOTES, script([])).await;
    let process = outside.serve().await;
    let mut idle = TcpStream::connect(process.address()).unwrap();
    idle.write_all(format!("GET / HTTP/1.1\r\nhost: {}\r\n\r\n", process.address()).as_bytes()).unwrap();
    let mut answered = [0; 15];
    idle.read_exact(&mut answered).unwrap();
    assert_eq!(&answered, b"HTTP/1.1 200 OK");
    let mut stuck = TcpStream::connect(process.address()).unwrap();
    stuck.write_all(b"GET / HTTP/1.1\r\nhost: 127").unwrap();
    assert!(process.stop().success());
}

/// Two services over one directory would perform the same runs twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_service_on_the_same_data_is_refused_and_the_first_goes_on() {
    let outside = Outside::new(NOTES, script([writes(&[FOURTH]), reads(approves())])).await;
    let process = outside.serve().await;
    let second = outside.program(&["serve"]).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(!second.status.success() && said.contains("another countersign serves the data directory"), "{said}");
    // The command line may still be used beside it.
    assert!(outside.program(&["repository", "list"]).status().unwrap().success());
    let page = process.delegate().await;
    until("the run ends", async || process.page(&page).await.contains("pull-request").then_some(())).await;
    process.kill();
    assert!(outside.serve().await.stop().success(), "a killed service holds nothing");
}
