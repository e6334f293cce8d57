-- Sources of repos, deployments of repos, registry settings of organizations, and imported versions of packages.

-- Null without a sync configuration, as in almost all repos. The indexes omit these repos, so that
-- writes stay cheap.
alter table repos add column source text /*pg collate "C" */;
create index repos_by_root_source on repos (root, source, uid) where source is not null;
create index repos_by_parent_source on repos (parent, source, uid) where source is not null;

create table repo_deployments (
  repo text /*pg collate "C" */ primary key references repos (uid) on delete cascade,
  update_time bigint not null,
  proto bytea not null
);

create table registry_settings (
  organization text /*pg collate "C" */ primary key references groups (uid) on delete cascade,
  update_time bigint not null,
  proto bytea not null
);

-- Written only by the operator, for the whole server.
create table package_versions (
  package text /*pg collate "C" */ primary key,
  update_time bigint not null,
  proto bytea not null
);

-- The definitions of repos and tags have changed. An empty shape makes the next start render their rows again.
update repos set shape = '';
update tags set shape = '';
