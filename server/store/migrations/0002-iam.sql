-- The other kinds of IAM. The columns `binding_…` contain the row as it is embedded in role bindings, as JSON and as
-- protobuf, and the columns `invite_…` as it is embedded in invites. A row with an empty `shape` is rendered again,
-- with all its columns, at the next start of the server.

/*pg create domain blob as bytea; */

alter table groups add column domain text /*pg collate "C" */;
alter table groups add column binding_json text not null default '';
alter table groups add column binding_bytes bytea;
create unique index groups_by_domain on groups (domain) where domain is not null;
update groups set shape = '';
create index groups_to_render on groups (uid) where shape = '';

alter table identities add column relationship_type bigint not null default 0;
alter table identities add column binding_json text not null default '';
alter table identities add column binding_bytes bytea;
create index identities_by_root_name on identities (root, name, uid);
create index identities_by_root_create_time on identities (root, create_time, uid);
create index identities_by_root_update_time on identities (root, update_time, uid);
create index identities_by_root_relationship_type on identities (root, relationship_type, uid);
create index identities_by_parent_name on identities (parent, name, uid);
create index identities_by_parent_create_time on identities (parent, create_time, uid);
create index identities_by_parent_update_time on identities (parent, update_time, uid);
create index identities_by_parent_relationship_type on identities (parent, relationship_type, uid);
update identities set shape = '';
create index identities_to_render on identities (uid) where shape = '';

alter table roles add column binding_json text not null default '';
alter table roles add column binding_bytes bytea;
alter table roles add column invite_json text not null default '';
alter table roles add column invite_bytes bytea;
create index roles_by_root_name on roles (root, name, uid);
create index roles_by_root_create_time on roles (root, create_time, uid);
create index roles_by_root_update_time on roles (root, update_time, uid);
create index roles_by_parent_name on roles (parent, name, uid);
create index roles_by_parent_create_time on roles (parent, create_time, uid);
create index roles_by_parent_update_time on roles (parent, update_time, uid);
create unique index roles_named on roles (parent, name) where parent is not null;
update roles set shape = '';
create index roles_to_render on roles (uid) where shape = '';

create index role_bindings_by_root_create_time on role_bindings (root, create_time, uid);
create index role_bindings_by_root_identity on role_bindings (root, identity, uid);
create index role_bindings_by_root_role on role_bindings (root, role, uid);
create index role_bindings_by_parent_create_time on role_bindings (parent, create_time, uid);
create index role_bindings_by_parent_identity on role_bindings (parent, identity, uid);
create index role_bindings_by_parent_role on role_bindings (parent, role, uid);
update role_bindings set shape = '';
create index role_bindings_to_render on role_bindings (uid) where shape = '';

create table identity_providers (
  uid text /*pg collate "C" */ primary key,
  parent text /*pg collate "C" */ not null references groups (uid),
  root text /*pg collate "C" */ not null,
  name text /*pg collate "C" */ not null,
  default_role text /*pg collate "C" */ not null references roles (uid),
  client_secret text not null,
  create_time bigint not null,
  update_time bigint not null,
  proto bytea not null,
  json text not null,
  shape text not null
);
create index identity_providers_by_root_name on identity_providers (root, name, uid);
create index identity_providers_by_root_create_time on identity_providers (root, create_time, uid);
create index identity_providers_by_root_update_time on identity_providers (root, update_time, uid);
create index identity_providers_by_parent on identity_providers (parent, uid);
create index identity_providers_by_parent_name on identity_providers (parent, name, uid);
create index identity_providers_by_parent_create_time on identity_providers (parent, create_time, uid);
create index identity_providers_by_parent_update_time on identity_providers (parent, update_time, uid);
create index identity_providers_by_default_role on identity_providers (default_role);

-- The uid is that of the group, and the parent the group's own parent.
create table account_associations (
  uid text /*pg collate "C" */ primary key references groups (uid),
  parent text /*pg collate "C" */ references groups (uid),
  root text /*pg collate "C" */ not null,
  name text /*pg collate "C" */ not null,
  create_time bigint not null,
  update_time bigint not null,
  proto bytea not null,
  json text not null,
  shape text not null
);
create index account_associations_by_root_name on account_associations (root, name, uid);
create index account_associations_by_root_create_time on account_associations (root, create_time, uid);
create index account_associations_by_root_update_time on account_associations (root, update_time, uid);
create index account_associations_by_parent on account_associations (parent, uid);
create index account_associations_by_parent_name on account_associations (parent, name, uid);
create index account_associations_by_parent_create_time on account_associations (parent, create_time, uid);
create index account_associations_by_parent_update_time on account_associations (parent, update_time, uid);

-- A role may be deleted although an invite still offers it.
create table group_invites (
  uid text /*pg collate "C" */ primary key,
  parent text /*pg collate "C" */ not null references groups (uid),
  root text /*pg collate "C" */ not null,
  name text /*pg collate "C" */ not null,
  role text /*pg collate "C" */ not null,
  key_id text /*pg collate "C" */ not null,
  digest text not null,
  expire_time bigint not null,
  create_time bigint not null,
  update_time bigint not null,
  proto bytea not null,
  json text not null,
  shape text not null
);
create index group_invites_by_root_create_time on group_invites (root, create_time, uid);
create index group_invites_by_root_update_time on group_invites (root, update_time, uid);
create index group_invites_by_parent on group_invites (parent, uid);
create index group_invites_by_parent_create_time on group_invites (parent, create_time, uid);
create index group_invites_by_parent_update_time on group_invites (parent, update_time, uid);
create unique index group_invites_by_key_id on group_invites (key_id);

create table group_access_requests (
  uid text /*pg collate "C" */ primary key,
  parent text /*pg collate "C" */ not null references groups (uid),
  root text /*pg collate "C" */ not null,
  name text /*pg collate "C" */ not null,
  identity text /*pg collate "C" */ not null references identities (uid),
  create_time bigint not null,
  update_time bigint not null,
  proto bytea not null,
  json text not null,
  shape text not null
);
create index group_access_requests_by_root_create_time on group_access_requests (root, create_time, uid);
create index group_access_requests_by_root_update_time on group_access_requests (root, update_time, uid);
create index group_access_requests_by_parent on group_access_requests (parent, uid);
create index group_access_requests_by_parent_create_time on group_access_requests (parent, create_time, uid);
create index group_access_requests_by_parent_update_time on group_access_requests (parent, update_time, uid);
create unique index group_access_requests_by_identity on group_access_requests (identity, parent);
