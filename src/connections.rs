//! Serving HTTP to whoever connects: to so many at once, and to each for as long as it does something.
//!
//! Whoever says nothing, or takes nothing of what it is told, would otherwise hold its connection for ever.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep};
use tokio_util::sync::CancellationToken;
use tracing::debug;

/// What a connection may take up.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// How many there may be at once; more wait.
    pub places: usize,
    /// How long the head of a request may take to arrive, from when one is waited for.
    pub head: Duration,
    /// How long the other side may take nothing of what is sent to it.
    pub stall: Duration,
}

/// The longest head of a request, in bytes.
const MAX_HEAD: usize = 64 << 10;

/// Serves until `stop` is cancelled, and then until the answers under way have ended. Dropped, it cuts them.
pub async fn serve<L: Listener>(mut listener: L, router: Router, terms: Terms, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(terms.places));
    let mut connections = JoinSet::new();
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            let place = place.expect("the semaphore is never closed");
            (listener.accept().await.0, place)
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => {}
            (io, place) = next => {
                let (router, stop) = (router.clone(), stop.clone());
                connections.spawn(async move {
                    converse(io, router, terms, stop).await;
                    drop(place);
                });
            }
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn converse<I>(io: I, router: Router, terms: Terms, stop: CancellationToken)
where
    I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(terms.head).max_buf_size(MAX_HEAD);
    let io = TokioIo::new(Attended { io, patience: terms.stall, stalled: None });
    let mut conversation = std::pin::pin!(http.serve_connection(io, TowerToHyperService::new(router)));
    let ended = tokio::select! {
        ended = conversation.as_mut() => ended,
        () = stop.cancelled() => {
            conversation.as_mut().graceful_shutdown();
            conversation.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "a connection ended early");
    }
}

/// A connection whose other side must go on taking what is written.
struct Attended<I> {
    io: I,
    patience: Duration,
    /// Runs while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<I: Unpin> Attended<I> {
    /// What `write` came to, or an error once it has waited too long.
    fn within<T>(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut I>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let written = write(Pin::new(&mut self.io), cx);
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(self.patience)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other side takes nothing")))
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Attended<I> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Attended<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.within(cx, |io, cx| io.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.within(cx, |io, cx| io.poll_write_vectored(cx, parts))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.within(cx, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.within(cx, AsyncWrite::poll_shutdown)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::net::SocketAddr;

    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::timeout;
    use tokio_util::task::TaskTracker;

    use super::*;

    /// Longer than any of these tests should wait for an end that comes.
    const LONG: Duration = Duration::from_secs(20);
    const SHORT: Terms = Terms { places: 1, head: Duration::from_millis(200), stall: Duration::from_millis(200) };

    async fn served(terms: Terms) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let long = async || vec![b'x'; 64 << 20];
        let router = Router::new().route("/", get(async || "hello")).route("/long", get(long));
        TaskTracker::new().spawn(serve(listener, router, terms, CancellationToken::new()));
        address
    }

    async fn said(address: SocketAddr, words: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(words.as_bytes()).await.unwrap();
        stream
    }

    /// Everything until the other side ends the connection.
    async fn rest(mut stream: TcpStream) -> String {
        let mut text = Vec::new();
        // An end by reset is an end.
        let _ = timeout(LONG, stream.read_to_end(&mut text)).await.expect("the connection was never ended");
        String::from_utf8_lossy(&text).into_owned()
    }

    #[tokio::test]
    async fn whoever_sends_no_whole_head_is_let_go() {
        let address = served(SHORT).await;
        for start in ["", "\r\n\r\n", "GE", "GET / HTTP/1.1\r\nhost: x\r\n", "PRI * HTTP/2.0\r\n"] {
            let answer = rest(said(address, start).await).await;
            assert!(!answer.contains("200"), "{start:?}: {answer}");
        }
    }

    #[tokio::test]
    async fn a_head_that_comes_byte_by_byte_is_no_whole_head() {
        let (mut reader, mut writer) = said(served(SHORT).await, "GET / HTTP/1.1\r\nx: ").await.into_split();
        let dripping = async {
            while writer.write_all(b"y").await.is_ok() {
                sleep(Duration::from_millis(20)).await;
            }
        };
        let ending = async {
            let mut text = Vec::new();
            let _ = reader.read_to_end(&mut text).await;
        };
        timeout(LONG, async { tokio::join!(dripping, ending) }).await.expect("the connection was never ended");
    }

    #[tokio::test]
    async fn whoever_asks_once_and_then_nothing_more_is_let_go() {
        let answer = rest(said(served(SHORT).await, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await).await;
        assert!(answer.ends_with("hello"), "{answer}");
    }

    #[tokio::test]
    async fn whoever_takes_nothing_of_its_answer_gives_its_place_up() {
        let address = served(SHORT).await;
        let held = said(address, "GET /long HTTP/1.1\r\nhost: x\r\n\r\n").await;
        // There is one place, so this one is answered only when the other has lost it.
        let answer = rest(said(address, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await).await;
        assert!(answer.ends_with("hello"), "{answer}");
        drop(held);
    }

    #[tokio::test]
    async fn a_head_without_end_is_refused() {
        let terms = Terms { head: LONG, ..SHORT };
        let head = format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(MAX_HEAD));
        let answer = rest(said(served(terms).await, &head).await).await;
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    }
}
