//! The built-in agent with everything that it works with: a real sandbox, the real gateway, and the model server over
//! HTTP.
#![expect(clippy::unwrap_used, reason = "tests")]

mod rig;

use std::time::{Duration, Instant};

use countersign::agent::brief::{self, Inline, Untrusted};
use countersign::agent::builtin::Limits;
use countersign::agent::{Action, Error, Role, Stop, Wait};

use rig::{Rig, run_in};

const WITHIN: Duration = Duration::from_secs(60);

#[tokio::test]
async fn an_agent_reads_edits_and_runs_and_tells_what_it_did() {
    let mut rig = Rig::start(
        r##"
        [[conversation]]
        when = { role = "implementer" }
        [[conversation.turn]]
        text = "I look at the code first."
        tools = [{ name = "read", input = { path = "src/split.rs" } }]
        [[conversation.turn]]
        tools = [
            { name = "edit", input = { path = "src/split.rs", old = "    text\n", new = "    let text = text;\n    text\n" } },
            { name = "write", input = { path = "tests/new/split.rs", content = "one\ntwo\n" } },
            { name = "bash", input = { command = "cat src/split.rs; pwd; exit 3" } },
        ]
        [[conversation.turn]]
        text = "Done."
        "##,
    )
    .await;
    rig.put("src/split.rs", "fn split(text: &str) -> &str {\n    text\n}\n");
    let mut agent = rig.open(Role::Implementer);
    let turn = agent.turn("Make it so.", WITHIN).await.unwrap();
    assert_eq!((turn.last_message.as_str(), turn.stop), ("Done.", Stop::Done));
    assert_eq!(turn.verdicts, Vec::<String>::new());
    assert_eq!(rig.get("src/split.rs"), "fn split(text: &str) -> &str {\n    let text = text;\n    text\n}\n");
    assert_eq!(rig.get("tests/new/split.rs"), "one\ntwo\n");
    let story = [
        "said: I look at the code first.",
        "read src/split.rs",
        "edit src/split.rs +1 −0",
        "wrote tests/new/split.rs (2 lines)",
        "ran cat src/split.rs; pwd; exit 3 → 3",
        "said: Done.",
    ];
    assert_eq!(rig.story(), story);
    let results = rig.results().await;
    assert_eq!(results[0], "     1\tfn split(text: &str) -> &str {\n     2\t    text\n     3\t}\n");
    assert!(results[3].ends_with("}\n/work\n[exit status 3]"), "{results:?}");
}

#[tokio::test]
async fn mistakes_are_told_to_the_model_and_fail_nothing() {
    let mut rig = Rig::start(
        r##"
        [[conversation]]
        [[conversation.turn]]
        tools = [
            { name = "web_search", input = { query = "how" } },
            { name = "verdict", input = { approved = true } },
            { name = "edit", input = { path = "nowhere.rs", old = "a", new = "b" } },
            { name = "edit", input = { path = "a.txt", old = "x", new = "y" } },
            { name = "edit", input = { path = "a.txt", old = "absent", new = "y" } },
            { name = "read", input = { path = "src" } },
            { name = "read", input = { path = "link" } },
            { name = "read", input = { file = "a.txt" } },
            { name = "write", input = { path = "/etc/passwd", content = "root" } },
            { name = "bash", input = { command = "" } },
            { name = "bash", input = { command = "x", timeout = 100000 } },
        ]
        [[conversation.turn]]
        text = "I give up."
        "##,
    )
    .await;
    rig.put("a.txt", "x\nx\n");
    rig.put("src/b.txt", "");
    rig.link("/etc/passwd", "link");
    let mut agent = rig.open(Role::Implementer);
    let turn = agent.turn("Try.", WITHIN).await.unwrap();
    assert_eq!(turn.last_message, "I give up.");
    assert!(turn.verdicts.is_empty(), "an implementer gives no verdicts");
    let expected = [
        "there is no tool `web_search`; there are bash, read, write, edit",
        "there is no tool `verdict`",
        "there is no `nowhere.rs` in the sandbox",
        "`old` occurs at lines 1, 2",
        "`old` does not occur in the file",
        "`src` is not a regular file",
        "`link` is not a regular file",
        "missing field `path`",
        "permission for `/etc/passwd` was refused",
        "the command is empty",
        "`timeout` is from 1 to 600 seconds",
    ];
    let results = rig.results().await;
    assert_eq!(results.len(), expected.len());
    for (result, part) in results.iter().zip(expected) {
        assert!(result.contains(part), "`{part}` is missing in `{result}`");
    }
    assert_eq!(rig.calls().iter().filter(|call| !call.failed).count(), 0, "{:#?}", rig.calls());
    assert_eq!(rig.get("a.txt"), "x\nx\n");
}

#[tokio::test]
async fn floods_and_binary_output_reach_the_model_bounded_and_marked() {
    let mut rig = Rig::start(
        r##"
        [[conversation]]
        [[conversation.turn]]
        tools = [
            { name = "bash", input = { command = "echo THE START; yes | head -c 50000000; echo THE END; exit 4" } },
            { name = "bash", input = { command = "head -c 1000000 /dev/urandom; printf '\\377\\000\\033[31mred\\033[0m'" } },
            { name = "bash", input = { command = "head -c 3000000 /dev/zero | tr '\\0' x > long.txt" } },
            { name = "read", input = { path = "long.txt" } },
        ]
        [[conversation.turn]]
        text = "Seen."
        "##,
    )
    .await;
    let mut agent = rig.open(Role::Implementer);
    agent.turn("Look.", WITHIN).await.unwrap();
    let results = rig.results().await;
    assert!(results.iter().all(|result| result.len() < 36_000), "{:?}", results.iter().map(String::len));
    assert!(results[0].starts_with("THE START\n") && results[0].ends_with("THE END\n[exit status 4]"));
    assert!(results[0].contains(" bytes left out …]\n"));
    assert!(results[1].ends_with("red\n[exit status 0]"), "{:?}", results[1].len());
    assert!(rig.calls().iter().all(|call| call.output.len() < 17_000 && !call.output.contains('\0')));
}

#[tokio::test]
async fn a_rate_limit_is_waited_for_as_long_as_asked() {
    let mut rig = Rig::start(
        r##"
        [[conversation]]
        [[conversation.turn]]
        text = "Hello."
        fault = { kind = "status", status = 429, retry_after = 1, times = 1 }
        "##,
    )
    .await;
    let mut agent = rig.open(Role::Implementer);
    let began = Instant::now();
    assert_eq!(agent.turn("Hello?", WITHIN).await.unwrap().last_message, "Hello.");
    assert!(began.elapsed() >= Duration::from_secs(1));
    let actions = rig.actions();
    let Action::Waiting { cause: Wait::RateLimit, pause } = actions[0] else { panic!("{actions:?}") };
    assert!(pause >= Duration::from_secs(1) && pause < Duration::from_secs(2), "{pause:?}");
}

#[tokio::test]
async fn a_rate_limit_beyond_the_patience_is_told_at_once() {
    let mut rig = Rig::start(
        r##"
        [[conversation]]
        [[conversation.turn]]
        fault = { kind = "status", status = 429, retry_after = 3600 }
        "##,
    )
    .await;
    let mut agent = rig.open(Role::Implementer);
    let error = agent.turn("Hello?", WITHIN).await.unwrap_err();
    let Error::RateLimited { retry_after: Some(wait) } = error else { panic!("{error:?}") };
    assert_eq!(wait, Duration::from_secs(3600));
    assert!(rig.actions().is_empty());
}

#[tokio::test]
async fn a_provider_that_fails_for_a_while_is_asked_again() {
    let mut rig = Rig::start(
        r##"
        [[conversation]]
        [[conversation.turn]]
        text = "one"
        tools = [{ name = "bash", input = { command = "echo once >> log" } }]
        fault = { kind = "status", status = 500, times = 2 }
        [[conversation.turn]]
        text = "two"
        tools = [{ name = "bash", input = { command = "echo twice >> log" } }]
        fault = { kind = "cut", after = 4, times = 1 }
        [[conversation.turn]]
        text = "three"
        fault = { kind = "garbage", times = 1 }
        [[conversation.turn]]
        "##,
    )
    .await;
    let mut agent = rig.open(Role::Implementer);
    assert_eq!(agent.turn("Go.", WITHIN).await.unwrap().last_message, "three");
    assert_eq!(rig.get("log"), "once\ntwice\n", "a cut answer is not acted on");
    let waits = rig.actions().iter().filter(|action| matches!(action, Action::Waiting { .. })).count();
    assert_eq!(waits, 4);
}

#[tokio::test]
async fn a_provider_that_never_answers_rightly_is_given_up() {
    let cases = [
        (r#"{ kind = "status", status = 529 }"#, 1),
        (r#"{ kind = "cut", after = 3 }"#, 4),
        (r#"{ kind = "error_event", after = 2, error = "overloaded_error" }"#, 1),
        (r#"{ kind = "garbage" }"#, 4),
        (r#"{ kind = "status", status = 400 }"#, 1),
        (r#"{ kind = "status", status = 401 }"#, 1),
    ];
    for (fault, least) in cases {
        let script = format!("[[conversation]]\n[[conversation.turn]]\ntext = \"never heard\"\nfault = {fault}\n");
        let mut rig = Rig::start(&script).await;
        rig.limits = Limits { patience: Duration::from_millis(1_800), ..Limits::default() };
        let mut agent = rig.open(Role::Implementer);
        let error = agent.turn("Hello?", WITHIN).await.unwrap_err();
        let right = match least {
            4 if fault.contains("garbage") => matches!(error, Error::Garbage(_)),
            1 if fault.contains("400") => matches!(error, Error::NotAccepted(_)),
            1 if fault.contains("401") => matches!(error, Error::Denied(_)),
            _ => matches!(error, Error::ProviderDown(_)),
        };
        assert!(right, "{fault}: {error:?}");
        let asked = rig.requests().await.len();
        assert!(asked >= least && asked <= 5, "{fault}: asked {asked} times");
    }
}

#[tokio::test]
async fn silence_is_asked_about_once_and_then_an_error_that_the_conversation_survives() {
    let rig = Rig::start(
        r##"
        [[conversation]]
        when = { request_contains = "Are you there" }
        [[conversation.turn]]
        text = "Yes."
        [[conversation]]
        [[conversation.turn]]
        "##,
    )
    .await;
    let mut agent = rig.open(Role::Reviewer);
    let error = agent.turn("Hello?", WITHIN).await.unwrap_err();
    assert!(matches!(error, Error::Empty), "{error:?}");
    assert_eq!(rig.requests().await.len(), 2);
    assert_eq!(agent.turn("Are you there?", WITHIN).await.unwrap().last_message, "Yes.");
}

#[tokio::test]
async fn money_that_is_used_up_ends_the_turn_at_once() {
    let mut rig = Rig::start("[[conversation]]\n[[conversation.turn]]\ntext = \"Hello.\"\n").await;
    rig.ceiling = countersign::cycle::money::Money::from_picodollars(1);
    let mut agent = rig.open(Role::Implementer);
    let error = agent.turn("Hello?", WITHIN).await.unwrap_err();
    assert!(matches!(error, Error::MoneyRefused(_)), "{error:?}");
    assert!(rig.actions().is_empty() && rig.requests().await.is_empty());
}

#[tokio::test]
async fn an_answer_that_is_cut_at_our_limit_is_never_acted_on() {
    let mut rig = Rig::start(
        r##"
        [[conversation]]
        [[conversation.turn]]
        text = "I remove everything but what I name next, which is a long list of files that I want to keep."
        tools = [{ name = "bash", input = { command = "touch acted" } }]
        "##,
    )
    .await;
    rig.limits = Limits { answer_tokens: 25, ..Limits::default() };
    let mut agent = rig.open(Role::Implementer);
    let error = agent.turn("Go.", WITHIN).await.unwrap_err();
    assert!(matches!(error, Error::OutputCut), "{error:?}");
    assert!(!rig.path("acted").exists());
}

#[tokio::test]
async fn an_agent_that_never_ends_is_stopped() {
    let mut rig = Rig::start(
        r##"
        [[conversation]]
        repeat_last = true
        [[conversation.turn]]
        tools = [{ name = "bash", input = { command = "echo again >> log" } }]
        "##,
    )
    .await;
    rig.limits = Limits { calls: 3, ..Limits::default() };
    let mut agent = rig.open(Role::Implementer);
    let error = agent.turn("Go.", WITHIN).await.unwrap_err();
    assert!(matches!(error, Error::TooManyCalls(3)), "{error:?}");
    assert_eq!(rig.requests().await.len(), 3);
}

const SLEEPER: &str = r##"
    [[conversation]]
    [[conversation.turn]]
    tools = [{ name = "bash", input = { command = "setsid sleep 601 & touch started; sleep 602", timeout = 600 } }]
    [[conversation.turn]]
    text = "It was cut off."
"##;

#[tokio::test]
async fn a_cancel_ends_a_running_command_and_all_that_it_started() {
    let rig = Rig::start(SLEEPER).await;
    let mut agent = rig.open(Role::Implementer);
    let (started, cancel) = (rig.path("started"), rig.cancel.clone());
    let canceller = tokio::spawn(async move {
        while !started.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
        Instant::now()
    });
    let error = agent.turn("Go.", WITHIN).await.unwrap_err();
    let took = canceller.await.unwrap().elapsed();
    assert!(matches!(error, Error::Cancelled), "{error:?}");
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert!(!run_in(&rig.sandbox, "cat /proc/[0-9]*/comm").await.contains("sleep"));
}

#[tokio::test]
async fn a_sandbox_that_dies_ends_the_turn_with_that_cause() {
    let rig = Rig::start(SLEEPER).await;
    let mut agent = rig.open(Role::Implementer);
    let killer = async {
        while !rig.path("started").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        rig.kill_sandbox();
    };
    let (outcome, ()) = tokio::join!(agent.turn("Go.", WITHIN), killer);
    let error = outcome.unwrap_err();
    assert!(matches!(error, Error::Sandbox(_)), "{error:?}");
}

#[tokio::test]
async fn a_turn_ends_with_its_time_and_the_next_one_goes_on_from_there() {
    let rig = Rig::start(SLEEPER).await;
    let mut agent = rig.open(Role::Implementer);
    let error = agent.turn("Go.", Duration::from_secs(1)).await.unwrap_err();
    assert!(matches!(error, Error::OutOfTime), "{error:?}");
    assert!(!run_in(&rig.sandbox, "cat /proc/[0-9]*/comm").await.contains("sleep"));
    let turn = agent.turn("What became of it?", WITHIN).await.unwrap();
    assert_eq!(turn.last_message, "It was cut off.");
    assert!(rig.results().await[0].contains("this was cut off"));
}

#[tokio::test]
async fn what_runs_in_the_background_ends_with_the_turn() {
    let rig = Rig::start(
        r##"
        [[conversation]]
        [[conversation.turn]]
        tools = [{ name = "bash", input = { command = "setsid sleep 603 > /dev/null 2>&1 & until cat /proc/[0-9]*/comm | grep -qx sleep; do :; done" } }]
        [[conversation.turn]]
        tools = [{ name = "bash", input = { command = "cat /proc/[0-9]*/comm" } }]
        [[conversation.turn]]
        text = "Done."
        "##,
    )
    .await;
    let mut agent = rig.open(Role::Implementer);
    agent.turn("Go.", WITHIN).await.unwrap();
    assert!(rig.results().await[1].contains("sleep\n"), "it lives on within the turn");
    assert!(!run_in(&rig.sandbox, "cat /proc/[0-9]*/comm").await.contains("sleep"));
}

#[tokio::test]
async fn a_long_conversation_is_shortened_and_keeps_its_brief() {
    let mut script = "[[conversation]]\n".to_owned();
    for round in 0..12 {
        script += &format!(
            "[[conversation.turn]]\ntools = [{{ name = \"bash\", input = {{ command = \"echo round {round}; yes | head -c 20000\" }} }}]\n"
        );
    }
    script += "[[conversation.turn]]\ntext = \"Done.\"\n";
    let mut rig = Rig::start(&script).await;
    rig.limits = Limits { context_bytes: 100_000, ..Limits::default() };
    let mut agent = rig.open(Role::Implementer);
    assert_eq!(agent.turn("The brief stays.", WITHIN).await.unwrap().last_message, "Done.");
    let requests = rig.requests().await;
    assert!(requests.iter().all(|body| body.len() < 130_000 && body.contains("The brief stays.")));
    let last = requests.last().unwrap();
    assert!(last.contains("[a result of ") && last.contains("round 11\\n"), "{last:.2000}");
    assert!(rig.actions().iter().any(|action| matches!(action, Action::Compacted { .. })));
}

#[tokio::test]
async fn a_verdict_by_tool_ends_the_review_and_a_question_goes_on_in_the_same_conversation() {
    let rig = Rig::start(
        r##"
        [capture]
        digest = "diff-digest: "
        [[conversation]]
        when = { role = "reviewer" }
        [[conversation.turn]]
        text = "I try it out."
        tools = [{ name = "bash", input = { command = "echo broken > a.txt" } }]
        [[conversation.turn]]
        text = "It is good."
        tools = [{ name = "verdict", input = { approved = true, digest = "{{digest}}", summary = "good", findings = [] } }]
        [[conversation.turn]]
        text = "On second thought:"
        tools = [{ name = "verdict", input = { approved = false, digest = "{{digest}}", summary = "bad", findings = [] } }]
        "##,
    )
    .await;
    let digest = "ab".repeat(32);
    let brief = brief::Reviewer {
        issue: brief::Issue {
            title: Inline::new("title"),
            body: Untrusted::markdown("body", 1_000),
            done: Vec::new(),
            base: Inline::new("main"),
        },
        checks: Vec::new(),
        diff: Untrusted::new("+diff-digest: 0000\n", 1_000),
        digest: digest.clone(),
        left_out: Vec::new(),
        changed_tests: Vec::new(),
        open: Vec::new(),
        criteria: Vec::new(),
        claim: None,
    };
    let mut agent = rig.open(Role::Reviewer);
    let turn = agent.turn(&brief::text(&brief), WITHIN).await.unwrap();
    assert_eq!((turn.last_message.as_str(), turn.verdicts.len()), ("It is good.", 1));
    let verdict: serde_json::Value = serde_json::from_str(&turn.verdicts[0]).unwrap();
    assert_eq!((&verdict["approved"], verdict["digest"].as_str()), (&true.into(), Some(digest.as_str())));
    assert_eq!(rig.requests().await.len(), 2, "a given verdict costs no further call");
    let again = brief::Reask { rulings: vec!["F1".into()], ..brief::Reask::default() };
    let turn = agent.turn(&brief::text(&again), WITHIN).await.unwrap();
    assert!(turn.verdicts[0].contains("\"approved\":false"), "{turn:?}");
    assert!(rig.results().await.iter().any(|result| result.contains("taken down")));
}

#[tokio::test]
async fn verdicts_in_text_and_verdicts_that_contradict_are_handed_over_as_they_are() {
    let rig = Rig::start(
        r##"
        [[conversation]]
        when = { request_contains = "in text" }
        [[conversation.turn]]
        text = """I cannot call tools.
```json
{"approved":false}
```"""
        [[conversation]]
        [[conversation.turn]]
        tools = [{ name = "verdict", input = { approved = false } }, { name = "bash", input = { command = "true" } }]
        [[conversation.turn]]
        tools = [{ name = "verdict", input = { approved = true } }, { name = "verdict", input = { approved = false } }]
        "##,
    )
    .await;
    let mut agent = rig.open(Role::Reviewer);
    let turn = agent.turn("Judge, in text.", WITHIN).await.unwrap();
    assert!(turn.verdicts.is_empty() && turn.last_message.ends_with("```json\n{\"approved\":false}\n```"), "{turn:?}");
    let mut agent = rig.open(Role::Reviewer);
    let turn = agent.turn("Judge.", WITHIN).await.unwrap();
    assert_eq!(turn.verdicts, ["{\"approved\":true}", "{\"approved\":false}"], "only those of the last message");
}

#[tokio::test]
async fn the_effort_and_the_cache_marks_reach_the_provider() {
    let rig = Rig::start("[[conversation]]\n[[conversation.turn]]\ntext = \"Hello.\"\n").await;
    let mut agent = rig.open(Role::Reviewer);
    agent.turn("Hello?", WITHIN).await.unwrap();
    let body: serde_json::Value = serde_json::from_str(&rig.requests().await[0]).unwrap();
    assert_eq!(body["output_config"]["effort"], "high");
    assert_eq!(body["cache_control"]["type"], "ephemeral");
    assert_eq!(body["system"][0]["cache_control"]["type"], "ephemeral");
    assert_eq!(body["tools"][4]["cache_control"]["type"], "ephemeral");
    assert_eq!(body["stream"], true);
}
