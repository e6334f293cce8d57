-- The tree, and the tables that are needed to decide who may access it. Each row stores its resource as `proto`, and as
-- `json`, which is rendered from `proto`; `shape` identifies the message definition by which it was rendered. Uids and
-- names are compared as bytes on both engines.

create table groups (
  uid text /*pg collate "C" */ primary key,
  parent text /*pg collate "C" */ references groups (uid),
  root text /*pg collate "C" */ not null,
  name text /*pg collate "C" */ not null,
  create_time bigint not null,
  update_time bigint not null,
  proto bytea not null,
  json text not null,
  shape text not null
);
create index groups_by_root_name on groups (root, name, uid);
create index groups_by_root_create_time on groups (root, create_time, uid);
create index groups_by_root_update_time on groups (root, update_time, uid);
create index groups_by_parent on groups (parent, uid);
create index groups_by_parent_name on groups (parent, name, uid);
create index groups_by_parent_create_time on groups (parent, create_time, uid);
create index groups_by_parent_update_time on groups (parent, update_time, uid);

create table identities (
  uid text /*pg collate "C" */ primary key,
  parent text /*pg collate "C" */ references groups (uid),
  root text /*pg collate "C" */ not null,
  name text /*pg collate "C" */ not null,
  create_time bigint not null,
  update_time bigint not null,
  proto bytea not null,
  json text not null,
  shape text not null
);
create index identities_by_parent on identities (parent, uid);

-- `bits` is the set of capabilities, encoded by server/policy/bits.ts.
create table roles (
  uid text /*pg collate "C" */ primary key,
  parent text /*pg collate "C" */ references groups (uid),
  root text /*pg collate "C" */ not null,
  name text /*pg collate "C" */ not null,
  bits text not null,
  create_time bigint not null,
  update_time bigint not null,
  proto bytea not null,
  json text not null,
  shape text not null
);
create index roles_by_parent on roles (parent, uid);

create table role_bindings (
  uid text /*pg collate "C" */ primary key,
  parent text /*pg collate "C" */ not null references groups (uid),
  root text /*pg collate "C" */ not null,
  name text /*pg collate "C" */ not null,
  identity text /*pg collate "C" */ not null references identities (uid),
  role text /*pg collate "C" */ not null references roles (uid),
  create_time bigint not null,
  update_time bigint not null,
  proto bytea not null,
  json text not null,
  shape text not null
);
create unique index role_bindings_by_identity on role_bindings (identity, parent, role);
create index role_bindings_by_parent on role_bindings (parent, uid);
create index role_bindings_by_role on role_bindings (role);

-- Identities of workloads that the operator allows to create organizations. People need no row.
create table founders (
  identity text /*pg collate "C" */ primary key references identities (uid) on delete cascade
);

-- How many resources of a kind lie directly in a group, and below it at any depth. Counts of one group are
-- spread over stripes, so that many writers need not wait for one row; only their sum means anything.
create table tally (
  kind text /*pg collate "C" */ not null,
  place text /*pg collate "C" */ not null,
  stripe bigint not null,
  children bigint not null,
  subtree bigint not null,
  primary key (kind, place, stripe)
);
create index tally_by_place on tally (place);

-- Keys that sign tokens and encrypt page tokens. `wrapped` is the key, encrypted with the server's secret. For each
-- purpose, one key has no retire_time; the others are kept until the tokens made with them have expired.
create table keys (
  kid text primary key,
  purpose text not null,
  wrapped bytea not null,
  create_time bigint not null,
  retire_time bigint
);
create unique index keys_in_use on keys (purpose) where retire_time is null;
