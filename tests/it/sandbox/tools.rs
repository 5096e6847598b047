//! The tool chains of this machine, used inside as a check would use them; and the way to the gateway.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use countersign::sandbox::{Backend, End, Spec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;

use super::{Place, said, sh, text};

#[tokio::test]
async fn a_crate_is_built_and_tested_inside_without_a_network() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    let manifest = "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let source =
        "#[test]\nfn good() {\n    assert_eq!(2 + 2, 4);\n}\n#[test]\nfn bad() {\n    assert_eq!(2 + 2, 5);\n}\n";
    sandbox.write("Cargo.toml", manifest.as_bytes()).await.unwrap();
    sandbox.write("src/lib.rs", source.as_bytes()).await.unwrap();
    let finished = sh(&sandbox, "cargo test").await;
    assert_eq!(finished.end, End::Exit(101), "{}", text(&finished));
    assert!(text(&finished).contains("1 passed; 1 failed"), "{}", text(&finished));
    sandbox.write("src/lib.rs", source.replace("2 + 2, 5", "2 + 3, 5").as_bytes()).await.unwrap();
    assert!(said(&sandbox, "cargo test 2>&1").await.contains("2 passed"));
    assert_eq!(said(&sandbox, "rustc --print sysroot").await, said(&sandbox, "cd / && rustc --print sysroot").await);
}

#[tokio::test]
async fn the_other_tools_of_a_project_work_inside() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    said(&sandbox, "git init -q . && git config user.name a && git config user.email b && git commit -q --allow-empty -m x && git log --oneline").await;
    sandbox.write("a.c", b"#include <stdio.h>\nint main(void) { puts(\"compiled\"); return 0; }\n").await.unwrap();
    assert_eq!(said(&sandbox, "cc -O2 a.c -o a && ./a").await, "compiled");
    assert_eq!(
        said(
            &sandbox,
            "python3 -c 'import ssl, sqlite3, subprocess; print(subprocess.check_output([\"echo\", \"ok\"]).decode())'"
        )
        .await,
        "ok"
    );
    assert_eq!(
        said(&sandbox, "node -e 'require(\"fs\").promises.readFile(\"a.c\").then(b => console.log(b.length))'").await,
        "66"
    );
    let pool = "python3 -c 'import multiprocessing as m; print(sum(m.Pool(3).map(abs, range(5))))'";
    assert_eq!(said(&sandbox, pool).await, "10");
    assert_eq!(said(&sandbox, "python3 -c 'import pty, os; m, s = pty.openpty(); print(os.isatty(s))'").await, "True");
}

#[tokio::test]
async fn credentials_beside_a_tool_chain_stay_outside() {
    let Some(place) = Place::new() else { return };
    let sandbox = place.start().await;
    let found = "find / -xdev \\( -name 'credentials*' -path '*cargo*' -o -name .netrc -o -name .npmrc -path '/root/*' \\) 2>/dev/null | head";
    assert_eq!(said(&sandbox, found).await, "");
    assert_eq!(said(&sandbox, "find /root -type f 2>/dev/null | head").await, "");
    assert_eq!(said(&sandbox, "ls -A ~").await, "");
}

/// A gateway that answers every connection with what it was sent, turned round, after its end.
fn gateway(listener: UnixListener) -> Arc<AtomicUsize> {
    let served = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&served);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let mut bytes = Vec::new();
                _ = stream.read_to_end(&mut bytes).await;
                bytes.reverse();
                _ = stream.write_all(&bytes).await;
            });
        }
    });
    served
}

const TALK: &str = r#"
import socket, sys
def talk(n):
    s = socket.create_connection(("127.0.0.1", 8080))
    s.sendall(bytes(i % 251 for i in range(n)))
    s.shutdown(socket.SHUT_WR)
    got = b""
    while True:
        b = s.recv(65536)
        if not b: break
        got += b
    return got == bytes(i % 251 for i in range(n))[::-1]
"#;

#[tokio::test]
async fn the_gateway_is_reached_through_loopback_and_nothing_else_is() {
    let Some(place) = Place::new() else { return };
    let socket = place.scratch.path().join("gateway.sock");
    let served = gateway(UnixListener::bind(&socket).unwrap());
    let spec = Spec { gateway: Some(socket), ..place.spec("tree") };
    let sandbox = place.backend.start(&spec).await.unwrap();
    let talk = |line: &str| format!("python3 -c '{TALK}{line}'");
    assert_eq!(said(&sandbox, &talk("print(talk(3), talk(0), talk(3000000))")).await, "True True True");
    let many = "import concurrent.futures as f\nprint(all(f.ThreadPoolExecutor(100).map(talk, [5000] * 300)))";
    assert_eq!(said(&sandbox, &talk(many)).await, "True");
    assert_eq!(served.load(Ordering::Relaxed), 303);
    let left_open = "s = [socket.create_connection((\"127.0.0.1\", 8080)) for i in range(60)]";
    said(&sandbox, &talk(left_open)).await;
    assert_eq!(said(&sandbox, &talk("print(talk(3))")).await, "True");

    let without = place.start().await;
    let refused = "import socket\ntry: socket.create_connection((\"127.0.0.1\", 8080))\nexcept ConnectionRefusedError: print(\"refused\")";
    assert_eq!(said(&without, &format!("python3 -c '{refused}'")).await, "refused");
}

#[tokio::test]
async fn a_gateway_that_is_gone_closes_the_connection() {
    let Some(place) = Place::new() else { return };
    let socket = place.scratch.path().join("gateway.sock");
    drop(UnixListener::bind(&socket).unwrap());
    let spec = Spec { gateway: Some(socket), ..place.spec("tree") };
    let sandbox = place.backend.start(&spec).await.unwrap();
    let line = "import socket\ns = socket.create_connection((\"127.0.0.1\", 8080))\nprint(s.recv(10))";
    let finished = sh(&sandbox, &format!("python3 -c '{line}' 2>&1 | tail -n 1")).await;
    assert!(
        ["b''\n", "ConnectionResetError: [Errno 104] Connection reset by peer\n"].contains(&text(&finished).as_str()),
        "{}",
        text(&finished)
    );
}
