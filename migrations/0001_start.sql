-- Types are those that SQLite and PostgreSQL share: text, bigint, boolean. Times are microseconds since
-- 1970 (UTC), money is picodollars, ids are UUIDs as text, payloads are JSON as text without NUL.

create table repository (
    id         text   primary key,
    name       text   not null unique,
    remote     text   not null,
    created_at bigint not null
);

create table issue (
    id            text   primary key,
    repository_id text   not null references repository (id),
    number        bigint not null,
    title         text   not null,
    body          text   not null,
    done          text   not null,
    base          text   not null,
    created_at    bigint not null,
    unique (repository_id, number)
);

-- One row a run: what lists and the queue need. The truth is in `event`.
create table run (
    id         text    primary key,
    issue_id   text    not null references issue (id),
    number     bigint  not null,
    version    bigint  not null,
    is_over    boolean not null,
    outcome    text,
    -- Money settled and reserved; every model call adds to it before it is sent.
    committed  bigint  not null,
    created_at bigint  not null,
    unique (issue_id, number)
);
create index run_unfinished on run (created_at, id) where not is_over;

create table event (
    run_id  text   not null references run (id),
    seq     bigint not null,
    at      bigint not null,
    payload text   not null,
    primary key (run_id, seq)
);

create table model_call (
    id       text   primary key,
    run_id   text   not null references run (id),
    -- The sequence number of the event that began the step.
    step     bigint not null,
    model    text   not null,
    reserved bigint not null,
    settled  bigint,
    -- Counted tokens as JSON; null until the call is settled.
    usage    text,
    at       bigint not null
);
create index model_call_by_step on model_call (run_id, step);

-- What agents did and said: many rows, opaque to the rules.
create table transcript (
    run_id  text   not null references run (id),
    seq     bigint not null,
    step    bigint not null,
    at      bigint not null,
    payload text   not null,
    primary key (run_id, seq)
);
create index transcript_by_step on transcript (run_id, step);

-- Checks measured on a base commit, kept by what was run.
create table baseline (
    repository_id text   not null references repository (id),
    commit_id     text   not null,
    commands      text   not null,
    payload       text   not null,
    at            bigint not null,
    primary key (repository_id, commit_id, commands)
);

-- The local forge: pull requests of repositories whose remote has none of its own.
create table pull_request (
    id            text   primary key,
    repository_id text   not null references repository (id),
    number        bigint not null,
    run_id        text   not null unique references run (id),
    base          text   not null,
    branch        text   not null,
    head          text   not null,
    title         text   not null,
    body          text   not null,
    label         text   not null,
    created_at    bigint not null,
    updated_at    bigint not null,
    unique (repository_id, number)
);

-- What a delivery has done already, so that repeating it is safe.
create table delivery_step (
    run_id text   not null references run (id),
    step   text   not null,
    detail text   not null,
    at     bigint not null,
    primary key (run_id, step)
);
