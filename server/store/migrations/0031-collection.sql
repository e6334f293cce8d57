-- Collection of content that nothing refers to. `unused_since` is the time since which a row is possibly unused: no
-- manifest of the repo uses the blob (repo_blobs), or no repo has it (blobs). A collection sets it to null if it finds
-- that the row is used. It is set again when a manifest or repo is deleted.
--
-- `claimed_until` is set while a collection deletes the bytes of a blob. The deletion ends before this time. The
-- `digest` of an upload is set before its bytes become those of the blob, so that no collection deletes them.

alter table blobs add column unused_since bigint;
alter table blobs add column claimed_until bigint;
update blobs set unused_since = review_after - 86400000;
drop index blobs_by_review;
alter table blobs drop column review_after;
create index blobs_by_use on blobs (unused_since, digest) where unused_since is not null;

alter table repo_blobs add column unused_since bigint;
update repo_blobs set unused_since = (select b.unused_since from blobs b where b.digest = repo_blobs.digest);
create index repo_blobs_by_use on repo_blobs (unused_since, repo, digest) where unused_since is not null;

alter table uploads add column digest text /*pg collate "C" */ references blobs (digest);
create index uploads_by_digest on uploads (digest) where digest is not null;

-- Tasks that one copy of the server performs for all copies. `next_time` is when a task is due, in
-- milliseconds since 1970.
create table tasks (
  name text /*pg collate "C" */ primary key,
  next_time bigint not null
);
