//! A run as one short text.

use countersign::cycle::checks::Outcome as CheckOutcome;
use countersign::cycle::outcome::Ceiling;
use countersign::cycle::run::{Delivery, Pass, Verified};
use countersign::cycle::step::{Citation, Reviewed, Written};

use super::base::Told;

impl Told {
    /// The outcome, a line for each pass, what is open, and what was delivered:
    ///
    /// ```text
    /// needs_review(stalled)
    /// pass 1: done +1 -0 | test passed | rejected, opened F1
    /// pass 2: done +1 -0 | test passed | rejected, opened nothing
    /// open: F1
    /// delivered: needs-review, pass 1
    /// ```
    pub(super) fn story(&self) -> String {
        let run = &self.run;
        let mut lines = vec![run.outcome.as_ref().map_or_else(|| "no outcome".to_owned(), ToString::to_string)];
        lines.extend(run.passes.iter().map(pass));
        let open: Vec<&str> = run.ledger.open().map(|o| o.id.as_str()).collect();
        if !open.is_empty() {
            lines.push(format!("open: {}", open.join(", ")));
        }
        lines.push(self.delivery());
        lines.join("\n")
    }

    fn delivery(&self) -> String {
        match &self.run.delivery {
            Delivery::None => "delivered: nothing".to_owned(),
            Delivery::Pending => "delivered: not yet".to_owned(),
            Delivery::Failed { cause } => format!("not delivered: {cause}"),
            Delivery::Done { commit, .. } => {
                let pass = self.run.passes.iter().find(|p| p.change().is_some_and(|c| c.commit == *commit)).unwrap();
                let label = self.pull.as_ref().map_or("no pull request", |p| p.label.as_str());
                format!("delivered: {label}, pass {}", pass.number)
            }
        }
    }

    /// Why findings were discarded, over all passes.
    pub(super) fn discarded(&self) -> Vec<String> {
        let reviews = self.run.passes.iter().filter_map(|p| p.review.as_ref());
        let findings = reviews.flat_map(|r| match r {
            Reviewed::Verdict { findings, .. } => findings.clone(),
            Reviewed::Unreadable { .. } | Reviewed::Cut(_) | Reviewed::Crashed { .. } => Vec::new(),
        });
        let reason = |c: Citation| match c {
            Citation::Discarded { reason } => Some(reason),
            Citation::Holds { .. } => None,
        };
        findings.filter_map(|f| reason(f.citation)).collect()
    }

    /// What was left out of the trees, as `path: reason`.
    pub(super) fn left_out(&self) -> Vec<String> {
        let changes = self.run.passes.iter().filter_map(|p| p.change());
        changes.flat_map(|c| &c.left_out).map(|l| format!("{}: {}", l.path, l.reason)).collect()
    }
}

fn pass(pass: &Pass) -> String {
    let parts = [
        Some(written(pass)),
        pass.verification.as_ref().map(verified),
        pass.review.as_ref().map(|r| reviewed(pass, r)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("pass {}: {}", pass.number, parts.join(" | "))
}

fn written(pass: &Pass) -> String {
    let size = pass.change().map_or_else(String::new, |c| format!(" +{} -{}", c.added, c.removed));
    match &pass.written {
        None => "not written".to_owned(),
        Some(Written::Done { .. }) => format!("done{size}"),
        Some(Written::Cut { ceiling, .. }) => format!("cut by {}{size}", word(*ceiling)),
        Some(Written::Crashed { .. }) => format!("crashed{size}"),
    }
}

fn word(ceiling: Ceiling) -> &'static str {
    match ceiling {
        Ceiling::Money => "money",
        Ceiling::Clock => "clock",
    }
}

fn verified(verified: &Verified) -> String {
    if verified.result.outcomes.is_empty() {
        return "nothing to run".to_owned();
    }
    let one = |j: &countersign::cycle::checks::Judged| format!("{} {}", j.name, outcome(&j.outcome));
    verified.result.outcomes.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn outcome(outcome: &CheckOutcome) -> String {
    match outcome {
        CheckOutcome::Passed => "passed".to_owned(),
        CheckOutcome::Regressed { new } if new.is_empty() => "regressed".to_owned(),
        CheckOutcome::Regressed { new } => {
            format!("regressed by {}", new.iter().cloned().collect::<Vec<_>>().join(" and "))
        }
        CheckOutcome::PreExisting => "failed before".to_owned(),
        CheckOutcome::Flaky => "flaky".to_owned(),
        CheckOutcome::CouldNotRun { cause } => format!("could not run: {cause}"),
    }
}

fn reviewed(pass: &Pass, review: &Reviewed) -> String {
    let opened = match pass.movement.opened.as_slice() {
        [] => String::new(),
        ids => format!(", opened {}", ids.join(" ")),
    };
    match review {
        Reviewed::Verdict { verdict, .. } => {
            format!("{}{opened}", if verdict.approved { "approved" } else { "rejected" })
        }
        Reviewed::Unreadable { .. } => "no verdict".to_owned(),
        Reviewed::Cut(ceiling) => format!("not reviewed, cut by {}", word(*ceiling)),
        Reviewed::Crashed { .. } => "the reviewer crashed".to_owned(),
    }
}
