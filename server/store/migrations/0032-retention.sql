-- Retention of tags and manifests. `push_time` is the time of the last push of a tag, even if that
-- push did not move it. `untagged_since` is used only for manifests without a tag: the later of the
-- last push of the manifest and the last time that a tag was moved away from it or deleted.
-- `retention_time` is the time at which the rules of a repo are applied next, and 0 if it has none.

alter table tags add column push_time bigint not null default 0;
update tags set push_time = update_time;
create index tags_by_push on tags (parent, push_time, uid);

alter table manifests add column untagged_since bigint not null default 0;
update manifests set untagged_since = create_time;
create index manifests_by_untagged on manifests (repo, untagged_since, digest);

alter table repos add column retention_time bigint not null default 0;
create index repos_by_retention on repos (retention_time, uid) where retention_time > 0;
