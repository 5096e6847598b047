//! The pages: the route table, and what surrounds every route.
//!
//! A handler extracts, asks the [`Desk`] once, and answers with a page. What a page shows is plain display
//! data (`pages/*.rs`, one file beside each template in `templates/pages`). The service listens on this
//! machine only and has no sign-in; [`guard`] holds both ends of that.

pub mod assets;
pub mod body;
pub mod desk;
pub mod diff;
pub mod error;
pub mod frame;
pub mod guard;
pub mod output;
pub mod page;
pub mod pages;
pub mod path;
mod present;
pub mod prose;
pub mod view;
pub mod words;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::connections::{self, Terms};
use desk::Desk;
use error::{Error, Missing};
use pages::{delegate, home, pull_request, run};

/// All routes, each behind the same guard and in the same frame.
pub fn router<D: Desk>(desk: Arc<D>) -> Router {
    Router::new()
        .route("/", get(home::show::<D>))
        .route("/delegate", get(delegate::show::<D>).post(delegate::submit::<D>))
        .route("/runs/{run}", get(run::show::<D>))
        .route("/runs/{run}/pull-request", get(pull_request::show::<D>))
        .route("/static/{version}/{name}", get(assets::show))
        .fallback(|| async { Error::NotFound(Missing::Page) })
        .method_not_allowed_fallback(|| async { Error::Method })
        .with_state(desk)
        .layer(from_fn(body::bounded))
        .layer(from_fn(guard::guard))
        // Outermost, so that even a refusal of the guard is a page with every header.
        .layer(from_fn(frame::frame))
}

/// How long answers under way may still take once the service stops.
const GRACE: Duration = Duration::from_secs(5);

/// What a browser, or anything else on this machine, may take up.
const TERMS: Terms = Terms { places: 256, head: Duration::from_secs(30), stall: Duration::from_secs(30) };

/// Serves the pages until `stop` is cancelled; then lets the answers under way finish, and returns
/// within some seconds.
pub async fn serve<D: Desk>(listener: TcpListener, desk: Arc<D>, stop: CancellationToken) {
    let served = connections::serve(listener, router(desk), TERMS, stop.clone());
    let late = async {
        stop.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        () = served => {}
        () = late => tracing::warn!("answers that did not end were cut"),
    }
}
