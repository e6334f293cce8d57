-- The content of each repo: `size` is its bytes, `manifests` the number of its manifests. A repo has several rows
-- (stripes) that are added up, so that concurrent pushes to one repo do not wait for each other (see tally.ts).

create table repo_sizes (
  repo text /*pg collate "C" */ not null references repos (uid) on delete cascade,
  stripe bigint not null,
  size bigint not null,
  manifests bigint not null,
  primary key (repo, stripe)
);

insert into repo_sizes (repo, stripe, size, manifests)
  select repo, 0, sum(size), sum(manifests) from (
    select r.repo, b.size, 0 as manifests from repo_blobs r join blobs b on b.digest = r.digest
    union all
    select repo, size, 1 from manifests
  ) content group by repo;

-- Tags now show their content, and repos their size. An empty shape makes the next start render
-- their rows again.
update tags set shape = '';
update repos set shape = '';
