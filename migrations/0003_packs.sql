-- What a writing step made, as a git pack of the objects that its commit has and the commit before it has not: with it
-- and the remote's base, any node goes on with a run.
create table pack (
    run_id    text   not null references run (id),
    -- The sequence number of the event that began the step.
    step      bigint not null,
    commit_id text   not null,
    payload   {blob} not null,
    primary key (run_id, step)
);
