-- The registry: repos in groups, tags in repos.

create table repos (
  uid text /*pg collate "C" */ primary key,
  parent text /*pg collate "C" */ not null references groups (uid),
  root text /*pg collate "C" */ not null,
  name text /*pg collate "C" */ not null,
  readme text not null,
  create_time bigint not null,
  update_time bigint not null,
  proto bytea not null,
  json text not null,
  shape text not null
);
create index repos_by_root_name on repos (root, name, uid);
create index repos_by_root_create_time on repos (root, create_time, uid);
create index repos_by_root_update_time on repos (root, update_time, uid);
create index repos_by_parent on repos (parent, uid);
create unique index repos_named on repos (parent, name);
create index repos_by_parent_name on repos (parent, name, uid);
create index repos_by_parent_create_time on repos (parent, create_time, uid);
create index repos_by_parent_update_time on repos (parent, update_time, uid);

-- `sort` is the type of a tag, not an order: 0 for tags that people create, other values for tags that tools create.
create table tags (
  uid text /*pg collate "C" */ primary key,
  parent text /*pg collate "C" */ not null references repos (uid),
  root text /*pg collate "C" */ not null,
  name text /*pg collate "C" */ not null,
  digest text /*pg collate "C" */ not null,
  sort bigint not null,
  create_time bigint not null,
  update_time bigint not null,
  proto bytea not null,
  json text not null,
  shape text not null
);
create index tags_by_root_name on tags (root, name, uid);
create index tags_by_root_digest on tags (root, digest, uid);
create index tags_by_root_sort on tags (root, sort, uid);
create index tags_by_root_create_time on tags (root, create_time, uid);
create index tags_by_root_update_time on tags (root, update_time, uid);
create index tags_by_parent on tags (parent, uid);
create unique index tags_named on tags (parent, name);
create index tags_by_parent_name on tags (parent, name, uid);
create index tags_by_parent_digest on tags (parent, digest, uid);
create index tags_by_parent_sort on tags (parent, sort, uid);
create index tags_by_parent_create_time on tags (parent, create_time, uid);
create index tags_by_parent_update_time on tags (parent, update_time, uid);

-- Which images a tag has named.
create table tag_history (
  tag text /*pg collate "C" */ not null references tags (uid) on delete cascade,
  update_time bigint not null,
  digest text not null,
  primary key (tag, update_time)
);
