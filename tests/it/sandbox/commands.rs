//! One command: what it gets, how it ends, what is kept of it.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use countersign::sandbox::{Command, End, Error};

use super::{Place, alone, argv, assert_passed, said, sh, shell, text};

#[tokio::test]
async fn a_command_ends_as_its_main_process_did() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    for (line, end) in [
        ("true", End::Exit(0)),
        ("exit 3", End::Exit(3)),
        ("exit 255", End::Exit(255)),
        ("kill -TERM $$", End::Signal(15)),
        ("kill -9 $$", End::Signal(9)),
        ("sh -c 'kill -9 $$'; exit 5", End::Exit(5)),
        ("no-such-program", End::Exit(127)),
    ] {
        assert_eq!(sh(&sandbox, line).await.end, end, "{line}");
    }
}

#[tokio::test]
async fn a_program_gets_its_arguments_as_they_are() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    let finished = sandbox.run(&argv(&["printf", "%s|", "a b", "$HOME", "*", "", "'\n"])).await.unwrap();
    assert_eq!(text(&finished), "a b|$HOME|*||'\n|");
}

#[tokio::test]
async fn what_cannot_be_run_is_an_error_that_says_why() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    let run = async |command: Command| sandbox.run(&command).await.unwrap_err();
    assert!(
        matches!(run(argv(&["no-such-program"])).await, Error::NoSuchProgram { program } if program == "no-such-program")
    );
    assert!(matches!(run(argv(&["/etc/hosts"])).await, Error::Denied { .. }));
    assert!(matches!(run(argv(&[])).await, Error::BadCommand { .. }));
    assert!(matches!(run(argv(&["printf", "a\0b"])).await, Error::BadCommand { .. }));
    assert!(matches!(run(argv(&["true", &"x".repeat(1 << 20)])).await, Error::BadCommand { .. }));
    assert!(matches!(run(argv(&["true", &"x".repeat(200 << 10)])).await, Error::Refused { .. }));
    let somewhere = |directory: &str| Command { directory: directory.to_owned(), ..shell("pwd") };
    assert!(matches!(run(somewhere("missing")).await, Error::NoSuchPath { path } if path == "missing"));
    for outside in ["/", "..", "a/../../etc"] {
        assert!(matches!(run(somewhere(outside)).await, Error::BadCommand { .. }), "{outside}");
    }
    assert_eq!(said(&sandbox, "echo still here").await, "still here");
}

#[tokio::test]
async fn a_command_runs_where_it_was_told_to() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    assert_eq!(said(&sandbox, "mkdir -p 'a b/c'; pwd").await, "/work");
    let below = Command { directory: "a b/c".to_owned(), ..shell("pwd") };
    assert_eq!(text(&sandbox.run(&below).await.unwrap()), "/work/a b/c\n");
}

#[tokio::test]
async fn a_command_that_waits_for_input_gets_the_end_of_it() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    let began = Instant::now();
    assert_eq!(sh(&sandbox, "read x").await.end, End::Exit(1));
    assert_eq!(said(&sandbox, "cat | wc -c").await, "0");
    assert_ne!(sh(&sandbox, "cat /dev/tty").await.end, End::Exit(0), "there is no terminal");
    assert_ne!(sh(&sandbox, "tty").await.end, End::Exit(0));
    assert_ne!(sh(&sandbox, "git fetch https://localhost/private").await.end, End::Exit(0));
    assert!(began.elapsed() < Duration::from_secs(20), "something waited");
}

#[tokio::test]
async fn input_arrives_whole_and_may_be_ignored() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    let with = |line: &str, input: Vec<u8>| Command { input: Some(input), ..shell(line) };
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| n.to_le_bytes()[0] ^ n.to_le_bytes()[1]).collect();
    let echoed = Command { keep_output: 4 << 20, ..with("cat", bytes.clone()) };
    assert!(sandbox.run(&echoed).await.unwrap().output.head == bytes, "cat changed the bytes");
    assert_eq!(text(&sandbox.run(&with("head -c 3", bytes.clone())).await.unwrap()).len(), 3);
    assert_eq!(sandbox.run(&with("exit 4", bytes.clone())).await.unwrap().end, End::Exit(4));
    assert_eq!(sandbox.run(&with("exec 0<&-; sleep 0.1; exit 5", bytes)).await.unwrap().end, End::Exit(5));
    assert_eq!(text(&sandbox.run(&with("wc -c", Vec::new())).await.unwrap()).trim(), "0");
}

#[tokio::test]
async fn the_time_limit_kills_what_ignores_everything_else() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    for line in [
        "sleep 1000",
        "trap '' TERM INT HUP; while :; do sleep 1000; done",
        "bash -c 'set -m; sleep 1000 & sleep 1000 & wait'",
        "sleep 1000 & sleep 1000 & exec sleep 1000",
    ] {
        let began = Instant::now();
        let finished = sandbox.run(&Command { time_limit: Duration::from_millis(300), ..shell(line) }).await.unwrap();
        assert_eq!(finished.end, End::TimedOut, "{line}");
        assert!(finished.duration >= Duration::from_millis(300), "{line}");
        assert!(began.elapsed() < Duration::from_secs(10), "{line} took {:?}", began.elapsed());
        assert_eq!(said(&sandbox, "ps -e -o comm= | grep -c sleep || true").await, "0", "{line} left something");
    }
}

#[tokio::test]
async fn a_background_process_neither_keeps_a_command_open_nor_dies_by_its_end() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    let began = Instant::now();
    let finished = sh(&sandbox, "(while sleep 0.05; do echo tick; date >> ticks; done) & echo $!; echo ok").await;
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(finished.end, End::Exit(0));
    assert!(text(&finished).contains("ok\n"));
    let pid = text(&finished).lines().next().unwrap().to_owned();
    said(&sandbox, "n=$(wc -l < ticks); while [ $(wc -l < ticks) -le $((n+5)) ]; do sleep 0.02; done").await;
    sandbox.kill_commands().await.unwrap();
    assert_ne!(sh(&sandbox, &format!("kill -0 {pid}")).await.end, End::Exit(0), "it outlived kill_commands");
}

#[tokio::test]
async fn everything_that_the_main_process_printed_arrives_however_slowly_it_is_read() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    let mut count = 0;
    let command = shell("head -c 700000 /dev/zero; sleep 1000 & exit 6");
    let finished = sandbox
        .stream(&command, &mut |bytes| {
            count += bytes.len();
            std::thread::sleep(Duration::from_millis(60));
        })
        .await
        .unwrap();
    assert_eq!((finished.end, count), (End::Exit(6), 700_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_stops_reading_stops_the_writer() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    let written = place.scratch.path().join("tree/written");
    let seen = Arc::new(AtomicU64::new(0));
    let command = Command {
        time_limit: Duration::from_secs(3),
        ..shell("i=0; while :; do head -c 65536 /dev/zero; i=$((i+1)); echo $i > written; done")
    };
    let progress = || fs::read_to_string(&written).ok().and_then(|n| n.trim().parse::<u64>().ok()).unwrap_or(0);
    let finished = sandbox
        .stream(&command, &mut |_| {
            if seen.fetch_add(1, Ordering::Relaxed) == 0 {
                // Nobody reads during this time: the sockets and the pipe fill, and then the command has to wait.
                let mut before = u64::MAX;
                while progress() != before {
                    before = progress();
                    std::thread::sleep(Duration::from_millis(300));
                }
                assert!(before < 64, "{before} x 64 KiB went nowhere");
            }
        })
        .await
        .unwrap();
    assert_eq!(finished.end, End::TimedOut, "the limit holds whether or not anybody reads");
}

#[test]
fn a_flood_of_output_costs_bounded_memory_and_keeps_the_exit_code() {
    if Place::new().is_some() {
        assert_passed(&alone("sandbox::commands::inner_flood").output().unwrap());
    }
}

#[tokio::test]
#[ignore = "started in a process of its own by a_flood_of_output_costs_bounded_memory_and_keeps_the_exit_code"]
async fn inner_flood() {
    let place = Place::new().unwrap();
    let sandbox = place.start().await;
    let resident = || {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().to_owned();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let before = resident();
    for (line, code) in [
        ("echo begin; yes | head -c 300000000; echo end; exit 3", 3),
        ("echo begin; head -c 300000000 /dev/zero | tr '\\0' x; echo; echo end; exit 4", 4),
    ] {
        let finished = sandbox.run(&Command { keep_output: 64 << 10, ..shell(line) }).await.unwrap();
        assert_eq!(finished.end, End::Exit(code), "{line}");
        let output = finished.output;
        assert!(output.head.starts_with(b"begin\n") && output.tail.ends_with(b"end\n"));
        assert_eq!((output.head.len(), output.tail.len()), (32 << 10, 32 << 10));
        assert!(output.cut > 299_000_000);
    }
    let grown = resident() - before;
    assert!(grown < 32 << 10, "300 MB of output cost {grown} kB");
}

#[tokio::test]
async fn output_that_is_not_text_is_kept_as_it_is() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    let finished = sh(&sandbox, r"printf '\377\376\0\033]0;title'; printf 'err' >&2; exit 3").await;
    assert_eq!(finished.end, End::Exit(3));
    assert_eq!(finished.output.head, b"\xff\xfe\0\x1b]0;titleerr");
}

#[tokio::test]
async fn both_streams_come_in_the_order_in_which_they_were_written() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    let line = "for i in 1 2 3 4 5 6 7 8; do echo out $i; echo err $i >&2; done";
    let expected: String = (1..=8).map(|i| format!("out {i}\nerr {i}\n")).collect();
    assert_eq!(text(&sh(&sandbox, line).await), expected);
}

#[tokio::test]
async fn commands_run_side_by_side_without_touching_each_other() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    let commands = (0..100).map(|i| shell(&format!("sleep 0.05; echo {i}; exit {i}"))).collect::<Vec<_>>();
    let results = futures_util::future::join_all(commands.iter().map(|command| sandbox.run(command))).await;
    for (i, result) in results.into_iter().enumerate() {
        let finished = result.unwrap();
        assert_eq!(finished.end, End::Exit(i32::try_from(i).unwrap()));
        assert_eq!(text(&finished), format!("{i}\n"));
    }
}

#[tokio::test]
async fn a_command_sees_our_environment_its_own_and_nothing_else() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    let mut command = shell("env | cut -d= -f1 | sort | tr '\\n' ' '");
    command.environment.insert("EXTRA".to_owned(), "a=b\nc".to_owned());
    let names = text(&sandbox.run(&command).await.unwrap());
    let expected = "CARGO_HOME CARGO_NET_OFFLINE CARGO_TERM_COLOR CI DEBIAN_FRONTEND EXTRA GIT_PAGER GIT_TERMINAL_PROMPT HOME \
                    LANG LOGNAME PAGER PATH PWD SHELL TERM TMPDIR USER c npm_config_yes ";
    assert_eq!(names, expected);
    assert_eq!(said(&sandbox, "cd; pwd").await, "/home/agent");
}

#[tokio::test]
async fn nothing_that_a_command_prints_or_does_changes_how_it_is_said_to_have_ended() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    // The frame "ended with exit code 0 after 1 µs", as init itself would send it, into every descriptor in reach.
    let forged = r"printf '\031\0\0\0A\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\001\0\0\0\0\0\0\0'";
    let line = format!(
        "{forged}; for p in /proc/[0-9]*; do for f in $p/fd/*; do ({forged} > $f) 2>/dev/null; done; done; \
         kill -9 1; kill -CHLD 1; kill -TERM 1; sh -c 'exit 0' & wait; exit 7"
    );
    let finished = sh(&sandbox, &line).await;
    assert_eq!(finished.end, End::Exit(7));
    assert!(finished.output.head.starts_with(b"\x19\0\0\0A"), "the forged frame is output like any other");
}

#[tokio::test]
async fn a_program_in_the_tree_does_not_stand_in_for_the_real_one() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    for name in ["git", "cargo", "sh", "true"] {
        sandbox.write(name, b"#!/bin/sh\necho stolen\n").await.unwrap();
    }
    said(&sandbox, "chmod +x git cargo sh true").await;
    assert!(said(&sandbox, "git --version; true").await.starts_with("git version"));
    assert!(said(&sandbox, "true").await.is_empty());
}
