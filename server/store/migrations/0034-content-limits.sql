-- Limits on the content of repos. They are in MiB, but the tally counts bytes. An upload counts with
-- the bytes that are reserved for it, so that uploads that arrive at the same time cannot exceed a
-- limit together.

alter table uploads add column reserved bigint not null default 0;

insert into tally (kind, place, stripe, children, subtree)
  select 'registry_mebibytes', g.uid, 0, 0, sum(s.size)
  from repo_sizes s join repos r on r.uid = s.repo
    join groups g on r.parent = g.uid or (r.parent > g.uid || '/' and r.parent < g.uid || '0')
  group by g.uid;
