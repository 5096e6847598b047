//! The loop of one run: plan, begin, perform, record.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::ports::{Ports, Task, told};
use super::{baseline, deliver, prepare, review, verify, write};
use crate::clock::{self, Stopwatch};
use crate::cycle::event::Event;
use crate::cycle::id::Lease;
use crate::cycle::plan::{Next, plan};
use crate::cycle::run::{Phase, Run};
use crate::cycle::step::{Allowance, Step, StepResult};
use crate::store::Error;

/// Drives a run until it is over, or until it is told to stop.
///
/// # Errors
/// The store's, when the run's log can neither be read nor written; [`Error::Lost`] when another node has claimed it.
pub(super) async fn drive(ports: &Ports, lease: Lease, stop: &CancellationToken) -> Result<(), Error> {
    let id = lease.run;
    let mut run = recover(ports, lease, ports.store.load(id).await?).await?;
    let watch = Stopwatch::go_on(run.used);
    while !stop.is_cancelled() {
        ports.moved.send_modify(|n| *n += 1);
        match plan(&run) {
            Next::Begin { step, allowance, pause } => {
                if !waited(ports, &run, pause, stop).await? {
                    run = ports.store.load(id).await?;
                    continue;
                }
                run = perform_next(ports, (lease, run), (step, allowance), &watch, stop).await?;
            }
            Next::Decide(outcome) => {
                info!(run.id = %id, "run {id} ends as {outcome}");
                run = intend(ports, lease, run, Event::Decided { outcome }).await?;
            }
            Next::InFlight => run = recover(ports, lease, run).await?,
            Next::Over => break,
        }
    }
    ports.moved.send_modify(|n| *n += 1);
    if run.is_over() {
        ports.forget(id).await;
    }
    Ok(())
}

/// A run found in mid-step has no live owner: the step counts as interrupted and is planned again.
async fn recover(ports: &Ports, lease: Lease, run: Run) -> Result<Run, Error> {
    let Phase::Busy { step, seq, .. } = run.phase else { return Ok(run) };
    warn!(run.id = %run.id, step.kind = step.name(), "{step} of run {} was interrupted", run.id);
    let spent = ports.store.spent_in_step(run.id, seq).await?;
    let finished = Event::StepFinished { result: StepResult::Interrupted, spent, used: run.used };
    ports.store.finish(lease, &finished, clock::now()).await
}

/// Waits out a pause; `false` if the run moved or the process stops meanwhile.
async fn waited(ports: &Ports, run: &Run, pause: Duration, stop: &CancellationToken) -> Result<bool, Error> {
    if pause.is_zero() {
        return Ok(true);
    }
    let look = Duration::from_millis(500);
    let mut left = pause;
    while !left.is_zero() {
        let nap = left.min(look);
        tokio::select! {
            () = tokio::time::sleep(nap) => left = left.saturating_sub(nap),
            () = stop.cancelled() => return Ok(false),
        }
        if ports.store.version(run.id).await? != run.version {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Stores an intent; if the run moved meanwhile, returns it as it is now, to be planned again.
async fn intend(ports: &Ports, lease: Lease, run: Run, event: Event) -> Result<Run, Error> {
    match ports.store.intend(lease, &run, &event, clock::now()).await? {
        Some(next) => Ok(next),
        None => ports.store.load(run.id).await,
    }
}

async fn perform_next(
    ports: &Ports,
    (lease, run): (Lease, Run),
    (step, allowance): (Step, Allowance),
    watch: &Stopwatch,
    stop: &CancellationToken,
) -> Result<Run, Error> {
    let began = Event::StepBegan { step, allowance, used: clock_of(&run, step, watch) };
    let Some(run) = ports.store.intend(lease, &run, &began, clock::now()).await? else {
        return ports.store.load(run.id).await;
    };
    info!(run.id = %run.id, step.kind = step.name(), "beginning {step} of run {}", run.id);
    let task = Task {
        lease,
        run: &run,
        step,
        allowance,
        seq: run.version,
        stop: stop.child_token(),
        began: Stopwatch::go_on(Duration::ZERO),
    };
    let result = tokio::select! {
        result = perform(ports, &task) => result,
        () = stop.cancelled() => StepResult::Stopped,
    };
    let used = clock_of(&run, step, watch);
    let next = finished(ports, &task, (result, used), stop).await?;
    info!(run.id = %run.id, step.kind = step.name(), "finished {step} of run {}", run.id);
    Ok(next)
}

/// Stores what a step came to. It is paid for, so a database that is away is waited for as long as the run is ours.
async fn finished(
    ports: &Ports,
    task: &Task<'_>,
    (result, used): (StepResult, Duration),
    stop: &CancellationToken,
) -> Result<Run, Error> {
    let store = async || {
        let spent = ports.store.spent_in_step(task.run.id, task.seq).await?;
        let event = Event::StepFinished { result: result.clone(), spent, used };
        ports.store.finish(task.lease, &event, clock::now()).await
    };
    loop {
        match store().await {
            Err(e) if e.is_outage() && !stop.is_cancelled() => {
                warn!(run.id = %task.run.id, error = told(&e), "the end of {} waits for the database", task.step);
                tokio::time::sleep(Duration::from_millis(250)).await;
            }
            other => return other,
        }
    }
}

/// The run's clock; it stands still during delivery.
fn clock_of(run: &Run, step: Step, watch: &Stopwatch) -> Duration {
    if step == Step::Deliver { run.used } else { watch.used() }
}

async fn perform(ports: &Ports, task: &Task<'_>) -> StepResult {
    match task.step {
        Step::Prepare => prepare::perform(ports, task).await,
        Step::Baseline => baseline::perform(ports, task).await,
        Step::Implement | Step::Revise(_) => write::perform(ports, task).await,
        Step::Verify(_) => verify::perform(ports, task).await,
        Step::Review(_) => review::perform(ports, task).await,
        Step::Deliver => deliver::perform(ports, task).await,
    }
}
