//! What a sandbox may use, and what it says when it has used that up.

use std::fs;
use std::time::{Duration, Instant};

use countersign::cycle::id::RunId;
use countersign::sandbox::{
    Backend, Command, End, Error, Finding, Grip, Limits, Namespace, NamespaceSettings, Sandbox, Standing, doctor,
};

use super::{Place, groups_of, said, sh, shell};

const MEMORY: u64 = 256 << 20;

async fn limited(place: &Place, limits: Limits) -> Sandbox {
    place.backend.start(&countersign::sandbox::Spec { limits, ..place.spec("tree") }).await.unwrap()
}

/// Whether the limit is kept by a control group; where it is not, `doctor` says so and strict mode refuses.
fn whole(grip: Grip) -> bool {
    grip == Grip::Whole
}

#[tokio::test]
async fn a_command_that_takes_too_much_memory_is_told_from_one_that_was_killed() {
    let Some(place) = Place::new() else { return };
    if !whole(place.backend.grips().memory) {
        return;
    }
    let sandbox = limited(&place, Limits { memory: MEMORY, ..Limits::default() }).await;
    let out_of_memory = End::OutOfMemory { limit: MEMORY };
    let hog = "python3 -c 'x = bytearray(600 << 20)'";
    assert_eq!(sh(&sandbox, &format!("exec {hog}")).await.end, out_of_memory, "the main process");
    assert_eq!(
        sh(&sandbox, &format!("{hog}; exit 3")).await.end,
        out_of_memory,
        "a child, and the main process goes on"
    );
    assert_eq!(sh(&sandbox, &format!("{hog} & wait; exit 1")).await.end, out_of_memory, "in the background");
    assert_eq!(sh(&sandbox, "kill -9 $$").await.end, End::Signal(9), "killed with memory to spare");
    assert_eq!(sh(&sandbox, "exit 137").await.end, End::Exit(137));
    assert_eq!(said(&sandbox, "python3 -c 'x = bytearray(100 << 20); print(len(x))'").await, "104857600");
}

#[tokio::test]
async fn temporary_files_are_limited_and_count_as_memory() {
    let Some(place) = Place::new() else { return };
    let sandbox = limited(&place, Limits { memory: MEMORY, ..Limits::default() }).await;
    for directory in ["/tmp", "/home/agent", "/dev/shm", "/var/tmp"] {
        let line =
            format!("head -c 100M /dev/zero > {directory}/f 2>/dev/null; wc -c < {directory}/f; rm {directory}/f");
        assert_eq!(said(&sandbox, &line).await, (MEMORY / 4).to_string(), "{directory}");
    }
}

#[tokio::test]
async fn a_fork_bomb_is_bounded_and_can_be_cleared_away() {
    let Some(place) = Place::new() else { return };
    if !whole(place.backend.grips().processes) {
        return;
    }
    let spec =
        countersign::sandbox::Spec { limits: Limits { processes: 64, ..Limits::default() }, ..place.spec("tree") };
    let sandbox = place.backend.start(&spec).await.unwrap();
    let bomb = Command { time_limit: Duration::from_secs(1), ..shell("bomb() { bomb | bomb & }; bomb; sleep 1000") };
    _ = sandbox.run(&bomb).await;
    let groups = groups_of(spec.run);
    let pids = groups.iter().find_map(|group| fs::read_to_string(group.join("pids.max")).ok().map(|max| (group, max)));
    let (group, max) = pids.unwrap();
    assert_eq!(max.trim(), "66");
    let refused = fs::read_to_string(group.join("pids.events")).unwrap();
    assert_ne!(refused.trim(), "max 0", "the bomb never reached the limit");
    let began = Instant::now();
    sandbox.kill_commands().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "clearing away took {:?}", began.elapsed());
    assert_eq!(said(&sandbox, "echo still here").await, "still here");

    let (bomb, endless) = (shell("bomb() { bomb | bomb & }; bomb; sleep 1000"), Duration::from_millis(300));
    _ = tokio::time::timeout(endless, sandbox.run(&bomb)).await;
    let began = Instant::now();
    sandbox.end().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "the end took {:?}", began.elapsed());
}

#[tokio::test]
async fn a_busy_sandbox_gets_its_share_of_the_processor_and_no_more() {
    let Some(place) = Place::new() else { return };
    if !whole(place.backend.grips().cpu) {
        return;
    }
    let sandbox = limited(&place, Limits { cpu_percent: 20, ..Limits::default() }).await;
    let line = "for i in 1 2 3; do timeout 1.5 sh -c 'while :; do :; done' & done; wait; times | tail -n 1";
    let times = said(&sandbox, line).await;
    let user: f64 = times.split(['m', 's']).nth(1).unwrap().parse().unwrap();
    assert!(user < 0.6, "three busy loops got {user} s in 1.5 s at 20 %");
}

#[tokio::test]
async fn a_file_grows_to_its_limit_and_not_further() {
    let Some(place) = Place::new() else { return };
    let sandbox = limited(&place, Limits { file_size: 1 << 20, ..Limits::default() }).await;
    assert_eq!(said(&sandbox, "sh -c 'head -c 5M /dev/zero > f' 2>/dev/null; wc -c < f").await, "1048576");
    assert_eq!(said(&sandbox, "ulimit -c").await, "0");
    assert_ne!(sh(&sandbox, "ulimit -f unlimited && head -c 5M /dev/zero > f").await.end, End::Exit(0));
}

#[tokio::test]
async fn groups_of_the_dead_are_swept_and_those_of_the_living_are_not() {
    let Some(place) = Place::new() else { return };
    if !whole(place.backend.grips().memory) {
        return;
    }
    let spec = place.spec("tree");
    let sandbox = place.backend.start(&spec).await.unwrap();
    let living = groups_of(spec.run);
    let left = RunId::new();
    let dead: Vec<_> = living
        .iter()
        .map(|group| {
            let name = group.file_name().unwrap().to_string_lossy().into_owned();
            let (namespace, _) = name.split_once('-').unwrap();
            let dead = group.with_file_name(format!("{namespace}-1-1.0.{left}"));
            fs::create_dir(&dead).unwrap();
            dead
        })
        .collect();
    place.backend.sweep();
    assert!(dead.iter().all(|group| !group.exists()), "a dead service's group is left");
    assert!(!living.is_empty() && living.iter().all(|group| group.exists()));
    assert_eq!(said(&sandbox, "echo works").await, "works");
}

#[tokio::test]
async fn strict_mode_works_exactly_where_every_limit_holds() {
    let Some(place) = Place::new() else { return };
    let settings = NamespaceSettings { strict: true, ..NamespaceSettings::new(place.scratch.path().join("strict")) };
    let all = place.backend.grips().list().iter().all(|(_, grip)| whole(*grip));
    match Namespace::new(&settings) {
        Ok(_) => assert!(all),
        Err(Error::LimitRefused { .. }) => assert!(!all),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn the_doctor_proves_every_statement_or_says_what_is_missing() {
    let Some(place) = Place::new() else { return };
    let directory = place.scratch.path().join("doctor");
    let findings = doctor(&NamespaceSettings::new(&directory)).await;
    let failed: Vec<&Finding> = findings.iter().filter(|finding| finding.standing == Standing::Fails).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(findings.len() >= 20, "it stopped early: {findings:#?}");
    for finding in &findings {
        assert_eq!(finding.remedy.is_some(), finding.standing != Standing::Holds, "{finding:?}");
    }
    let holds = |what: &str| findings.iter().any(|finding| finding.what == what && finding.standing == Standing::Holds);
    assert!(holds("no capabilities") && holds("no network but loopback") && holds("the file size limit holds"));
    let left: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["init"], "the doctor left something behind");
}

/// Makes children of process 1 as fast as the kernel lets it, each dead at once.
const FLOOD: &str = r"
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <unistd.h>
static char stack[65536];
static int end(void *nothing) { _exit(0); }
int main(void) {
    for (int i = 0; i < 16; i++)
        if (fork() == 0) {
            setsid();
            while (getppid() != 1) sched_yield();
            for (;;) clone(end, stack + 65536, CLONE_VM | CLONE_VFORK | CLONE_PARENT | SIGCHLD, 0);
        }
    return 0;
}
";

#[tokio::test]
async fn a_flood_of_dead_children_does_not_keep_process_1_from_its_work() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    sandbox.write("flood.c", FLOOD.as_bytes()).await.unwrap();
    said(&sandbox, "cc -O1 -o flood flood.c").await;
    let began = Instant::now();
    let sleeper = Command { time_limit: Duration::from_secs(1), ..shell("./flood; exec sleep 1000") };
    assert_eq!(sandbox.run(&sleeper).await.unwrap().end, End::TimedOut);
    for _ in 0..20 {
        assert_eq!(sandbox.read("flood.c", 10).await.unwrap().len(), 10);
    }
    sandbox.kill_commands().await.unwrap();
    assert_eq!(said(&sandbox, "echo still here").await, "still here");
    assert!(began.elapsed() < Duration::from_secs(10), "it took {:?}", began.elapsed());
}
