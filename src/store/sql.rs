//! Every statement, once, in the dialect that SQLite and PostgreSQL share.

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        $($(#[$doc])* pub(super) const $name: &str = $text;)*

        /// All of them with their names.
        pub(super) const ALL: &[(&str, &str)] = &[$((stringify!($name), $text)),*];
    };
}

statements! {
    INSERT_REPOSITORY = "insert into repository (id, name, remote, created_at) values ($1, $2, $3, $4)";
    GET_REPOSITORY    = "select id, name, remote from repository where id = $1";
    FIND_REPOSITORY   = "select id, name, remote from repository where name = $1";
    LIST_REPOSITORIES = "select id, name, remote from repository order by name";

    NEXT_ISSUE_NUMBER = "update repository set issues = issues + 1 where id = $1 returning issues";
    INSERT_ISSUE      = "insert into issue (id, repository_id, number, title, body, done, base, created_at)
                         values ($1, $2, $3, $4, $5, $6, $7, $8)";

    FIND_FIRST_RUN    = "select id from run where issue_id = $1 order by number limit 1";
    INSERT_RUN        = "insert into run (id, issue_id, number, version, is_over, outcome, committed, created_at)
                         values ($1, $2, $3, 1, false, null, 0, $4)";
    /// Moves a run on only if it has not moved since: the guard of every intent.
    UPDATE_RUN        = "update run set version = version + 1, is_over = $3, outcome = $4
                         where id = $1 and version = $2 and (cast($5 as bigint) is null or fence = $5)";
    GET_RUN_VERSION   = "select version, fence from run where id = $1";
    GET_RUN_ROW       = "select r.id, r.number, r.is_over, r.outcome, r.committed, r.created_at, i.number, i.title,
                                p.id, p.name, p.remote
                         from run r join issue i on i.id = r.issue_id join repository p on p.id = i.repository_id
                         where r.id = $1";
    LIST_RUN_ROWS     = "select r.id, r.number, r.is_over, r.outcome, r.committed, r.created_at, i.number, i.title,
                                p.id, p.name, p.remote
                         from run r join issue i on i.id = r.issue_id join repository p on p.id = i.repository_id
                         order by r.created_at desc, r.id desc limit $1";
    COUNT_RUNS        = "select is_over, outcome, count(*) from run group by is_over, outcome";
    /// Runs that nobody holds: never claimed, given up, run out, or held by this very node, which then was another process.
    LIST_FREE         = "select id from run
                         where not is_over
                           and (lease_until is null or lease_until < (select now from clock) or owner = $1)
                         order by created_at, id limit $2";
    CLAIM_RUN         = "update run
                         set owner = $2, fence = fence + 1, lease_until = (select now from clock) + $3
                         where id = $1 and not is_over
                           and (lease_until is null or lease_until < (select now from clock) or owner = $2)
                         returning fence";
    RENEW_LEASE       = "update run set lease_until = (select now from clock) + $3 where id = $1 and fence = $2";
    GIVE_UP_LEASE     = "update run set owner = null, lease_until = null where id = $1 and fence = $2";
    /// Holds the run's row until the transaction ends, so that nobody claims it meanwhile.
    GUARD_RUN         = "update run set fence = fence where id = $1 and fence = $2";

    INSERT_EVENT      = "insert into event (run_id, seq, at, payload) values ($1, $2, $3, $4)";
    LIST_EVENTS       = "select seq, at, payload from event where run_id = $1 order by seq";

    /// Takes the amount only if the ceiling still holds with it: one statement, so parallel calls cannot both slip through.
    RESERVE           = "update run set committed = committed + $2
                         where id = $1 and fence = $4 and committed + $2 <= $3";
    INSERT_CALL       = "insert into model_call (id, run_id, step, model, reserved, at) values ($1, $2, $3, $4, $5, $6)";
    GET_COMMITTED     = "select committed from run where id = $1 and fence = $2";
    SETTLE_CALL       = "update model_call set settled = $2, usage = $3 where id = $1 and settled is null
                         returning run_id, reserved";
    GIVE_BACK         = "update run set committed = committed - $2 where id = $1";
    SUM_STEP          = "select cast(coalesce(sum(coalesce(settled, reserved)), 0) as bigint) from model_call
                         where run_id = $1 and step = $2";
    LIST_CALLS        = "select step, model, reserved, settled, usage from model_call where run_id = $1 order by at, id";

    NEXT_TRANSCRIPT   = "update run set lines = lines + 1 where id = $1 and fence = $2 returning lines";
    INSERT_TRANSCRIPT = "insert into transcript (run_id, seq, step, at, payload) values ($1, $2, $3, $4, $5)";
    LIST_TRANSCRIPT   = "select step, at, payload from transcript where run_id = $1 order by seq limit $2";

    /// A step that begins again after a crash may make the same once more.
    KEEP_PACK         = "insert into pack (run_id, step, commit_id, payload) values ($1, $2, $3, $4)
                         on conflict (run_id, step) do update set commit_id = excluded.commit_id, payload = excluded.payload";
    LIST_PACKS        = "select commit_id, payload from pack where run_id = $1 order by step";

    FIND_BASELINE     = "select payload from baseline where repository_id = $1 and commit_id = $2 and commands = $3";
    KEEP_BASELINE     = "insert into baseline (repository_id, commit_id, commands, payload, at) values ($1, $2, $3, $4, $5)
                         on conflict (repository_id, commit_id, commands) do nothing";

    NEXT_PULL_NUMBER  = "update repository set pulls = pulls + 1 where id = $1 returning pulls";
    INSERT_PULL       = "insert into pull_request
                         (id, repository_id, number, run_id, base, branch, head, title, body, label, created_at, updated_at)
                         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)";
    UPDATE_PULL       = "update pull_request set head = $2, title = $3, body = $4, label = $5, updated_at = $6 where run_id = $1";
    FIND_PULL         = "select number, base, branch, head, title, body, label from pull_request where run_id = $1";

    RECORD_DELIVERY   = "insert into delivery_step (run_id, step, detail, at) values ($1, $2, $3, $4)
                         on conflict (run_id, step) do update set detail = excluded.detail, at = excluded.at";
    LIST_DELIVERY     = "select step, detail from delivery_step where run_id = $1 order by at, step";
}
