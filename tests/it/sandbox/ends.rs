//! Everything dead at the end, however the end came.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use countersign::sandbox::{Backend, End, Error};
use tokio::io::{AsyncBufReadExt, BufReader};

use super::{Place, alone, groups_of, runs, said, sh, shell, unique_sleep, until};

#[tokio::test]
async fn a_daemon_is_gone_when_the_sandbox_has_ended() {
    let Some(place) = Place::new() else { return };
    let spec = place.spec("tree");
    let sandbox = place.backend.start(&spec).await.unwrap();
    let nap = unique_sleep();
    let line =
        format!("setsid sh -c 'while :; do date +%N > beat; done' > /dev/null 2>&1 & setsid setsid sleep {nap} & echo");
    sh(&sandbox, &line).await;
    let beat = spec.tree.join("beat");
    until("the daemon runs", || beat.exists() && runs(&nap)).await;
    sandbox.end().await.unwrap();
    assert!(!runs(&nap), "a process outlived the sandbox");
    let last = fs::read(&beat).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(fs::read(&beat).unwrap(), last, "the tree still changes");
    assert!(groups_of(spec.run).is_empty(), "a control group is left");
}

#[tokio::test]
async fn killing_the_commands_leaves_a_sandbox_that_works() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    let nap = unique_sleep();
    sh(
        &sandbox,
        &format!("setsid sleep {nap} > /dev/null 2>&1 & setsid python3 -m http.server 3001 > /dev/null 2>&1 &"),
    )
    .await;
    said(&sandbox, "until ps -e -o comm= | grep -q python; do :; done").await;
    let long = unique_sleep();
    let line = format!("exec sleep {long}");
    let (long, ()) = tokio::join!(sh(&sandbox, &line), async {
        until("both run", || runs(&nap) && runs(&long)).await;
        sandbox.kill_commands().await.unwrap();
        assert!(!runs(&nap));
    });
    assert_eq!(long.end, End::Signal(9));
    assert_eq!(said(&sandbox, "ps -e -o comm= | grep -cE 'sleep|python' || true").await, "0");
    sandbox.kill_commands().await.unwrap();
}

#[tokio::test]
async fn a_command_whose_caller_has_gone_is_killed_with_its_children() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    let nap = unique_sleep();
    let command = shell(&format!("sh -c 'sleep {nap}' & bash -c 'set -m; sleep {nap} & wait'"));
    let waited = tokio::time::timeout(Duration::from_millis(500), async {
        let run = sandbox.run(&command);
        tokio::pin!(run);
        tokio::select! {
            _ = &mut run => panic!("it ended by itself"),
            () = until("it runs", || runs(&nap)) => std::future::pending::<()>().await,
        }
    });
    assert!(waited.await.is_err());
    until("the command is gone", || !runs(&nap)).await;
    assert_eq!(said(&sandbox, "echo still here").await, "still here");
}

#[tokio::test]
async fn dropping_a_sandbox_kills_everything_in_it() {
    let Some(place) = Place::new() else { return };
    let spec = place.spec("tree");
    let sandbox = place.backend.start(&spec).await.unwrap();
    let nap = unique_sleep();
    sh(&sandbox, &format!("setsid sleep {nap} > /dev/null 2>&1 &")).await;
    until("the daemon runs", || runs(&nap)).await;
    drop(sandbox);
    until("everything is gone", || !runs(&nap) && groups_of(spec.run).is_empty()).await;
}

#[tokio::test]
async fn giving_up_a_start_leaves_nothing() {
    let Some(place) = Place::new() else { return };
    let spec = place.spec("tree");
    for micros in [0, 100, 1000, 2000, 4000, 8000] {
        _ = tokio::time::timeout(Duration::from_micros(micros), place.backend.start(&spec)).await;
    }
    until("nothing is left of them", || groups_of(spec.run).is_empty()).await;
    let sandbox = place.backend.start(&spec).await.unwrap();
    assert_eq!(said(&sandbox, "echo works").await, "works");
}

#[tokio::test]
async fn a_sandbox_that_was_killed_from_outside_is_lost_and_says_so() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    let nap = unique_sleep();
    let command = shell(&format!("sleep {nap}"));
    let killer = async {
        until("it runs", || runs(&nap)).await;
        let mut init = with_marker(&nap);
        while fs::read_to_string(format!("/proc/{init}/comm")).unwrap() != "init\n" {
            init = parent_of(init);
        }
        assert!(std::process::Command::new("kill").args(["-9", &init.to_string()]).status().unwrap().success());
    };
    let (result, ()) = tokio::join!(sandbox.run(&command), killer);
    assert!(matches!(result, Err(Error::Lost)), "{result:?}");
    assert!(matches!(sandbox.run(&shell("true")).await, Err(Error::Lost)));
    sandbox.end().await.unwrap();
}

/// The process that sleeps for so long.
fn with_marker(marker: &str) -> u32 {
    let found = fs::read_dir("/proc").unwrap().flatten().find(|entry| {
        fs::read(entry.path().join("cmdline")).unwrap_or_default() == format!("sleep\0{marker}\0").into_bytes()
    });
    found.unwrap().file_name().to_string_lossy().parse().unwrap()
}

fn parent_of(pid: u32) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap().parse().unwrap()
}

/// The part of the next test that runs as a process of its own.
#[tokio::test]
#[ignore = "started by what_a_killed_service_left_is_gone_or_swept"]
#[expect(clippy::print_stdout, reason = "it speaks to its parent")]
async fn inner_service_to_be_killed() {
    let place = Place::new().unwrap();
    let spec = place.spec("tree");
    let sandbox = place.backend.start(&spec).await.unwrap();
    let nap = unique_sleep();
    sh(&sandbox, &format!("setsid sleep {nap} > /dev/null 2>&1 &")).await;
    until("the daemon runs", || runs(&nap)).await;
    println!("\nready {nap} {} {}", spec.run, place.scratch.path().display());
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn what_a_killed_service_left_is_gone_or_swept() {
    let Some(place) = Place::new() else { return };
    let mut service = tokio::process::Command::from(alone("sandbox::ends::inner_service_to_be_killed"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(service.stdout.take().unwrap()).lines();
    let ready = loop {
        let line = lines.next_line().await.unwrap().unwrap();
        if let Some(ready) = line.strip_prefix("ready ") {
            break ready.to_owned();
        }
    };
    let [nap, run, scratch] = ready.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
    assert!(runs(nap));
    service.kill().await.unwrap();
    let killed = Instant::now();
    until("the sandbox has died with its service", || !runs(nap)).await;
    assert!(killed.elapsed() < Duration::from_secs(5));
    let run = run.parse().unwrap();
    place.backend.sweep();
    assert!(groups_of(run).is_empty(), "its control groups are left");
    fs::remove_dir_all(scratch).unwrap();
}
