//! first
use countersign::cycle::id::RunId;
use countersign::sandbox::*;
use std::time::Duration;

#[tokio::test]
async fn first() {
    let home = tempfile::tempdir().unwrap();
    let t = std::time::Instant::now();
    let backend = Namespace::new(&NamespaceSettings::new(home.path().join("sandbox"))).unwrap();
    println!("new {:?} {:?}", t.elapsed(), backend.grips());
    let tree = home.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    backend.hand_over(&tree).unwrap();
    let spec = Spec { run: RunId::new(), tree, limits: Limits::default(), gateway: None };
    for _ in 0..5 {
        let t = std::time::Instant::now();
        let sandbox = backend.start(&spec).await.unwrap();
        println!("start {:?}", t.elapsed());
        for line in [
            "true",
            "id; pwd; ls -la / /dev; env; cat /proc/self/status | grep -E 'Cap|NoNew|Seccomp'; mount; cargo --version; python3 -V; node -v; ps aux; cat /proc/self/oom_score_adj /proc/1/oom_score_adj",
            "exit 3",
            "kill -9 $$",
        ] {
            let command = Command {
                program: Program::Shell(line.into()),
                directory: String::new(),
                environment: Default::default(),
                input: None,
                time_limit: Duration::from_secs(10),
                keep_output: 1 << 20,
            };
            let t = std::time::Instant::now();
            let f = sandbox.run(&command).await.unwrap();
            println!("{:?} {:?} {:?}\n{}", f.end, f.duration, t.elapsed(), String::from_utf8_lossy(&f.output.head));
        }
        let t = std::time::Instant::now();
        sandbox.end().await.unwrap();
        println!("end {:?}", t.elapsed());
    }
}
