-- Several processes on one database: numbers are counted in the parent's row, whose update makes writers take turns.

alter table repository add column issues bigint not null default 0;
alter table repository add column pulls  bigint not null default 0;
alter table run        add column lines  bigint not null default 0;

-- Who holds a run, until when by the clock below, and how often it was claimed: the fencing number.
alter table run add column owner       text;
alter table run add column lease_until bigint;
alter table run add column fence       bigint not null default 0;

update repository set
    issues = (select coalesce(max(i.number), 0) from issue i where i.repository_id = repository.id),
    pulls  = (select coalesce(max(p.number), 0) from pull_request p where p.repository_id = repository.id);
update run set lines = (select coalesce(max(t.seq), 0) from transcript t where t.run_id = run.id);

-- The database's own clock, in microseconds since 1970: leases are never judged by a node's.
create view clock as select {now} as now;
