-- External groups: groups of people that an identity provider knows. A mapping gives the members of an external group
-- a role. An external group with a mapping has a row in `identities`, to which its roles are bound. Its uid is a hash
-- of the provider and the id that the provider gives the group, so it is known before the row exists.

create table external_group_role_mappings (
  uid text /*pg collate "C" */ primary key,
  parent text /*pg collate "C" */ not null references identity_providers (uid),
  root text /*pg collate "C" */ not null,
  name text /*pg collate "C" */ not null,
  external_group text /*pg collate "C" */ not null references identities (uid),
  binding text /*pg collate "C" */ not null references role_bindings (uid),
  create_time bigint not null,
  update_time bigint not null,
  proto bytea not null,
  json text not null,
  shape text not null
);
create index external_group_role_mappings_by_root_create_time on external_group_role_mappings (root, create_time, uid);
create index external_group_role_mappings_by_parent on external_group_role_mappings (parent, uid);
create index external_group_role_mappings_by_parent_create_time on external_group_role_mappings (parent, create_time, uid);
create index external_group_role_mappings_by_external_group on external_group_role_mappings (external_group);
create unique index external_group_role_mappings_by_binding on external_group_role_mappings (binding);

-- The members of external groups that have a mapping. `source` tells who named them: `sign-in` or `scim`.
create table external_group_members (
  identity text /*pg collate "C" */ not null references identities (uid) on delete cascade,
  external_group text /*pg collate "C" */ not null,
  source text /*pg collate "C" */ not null,
  provider text /*pg collate "C" */ not null references identity_providers (uid) on delete cascade,
  expire_time bigint not null,
  primary key (identity, external_group, source)
);
create index external_group_members_by_external_group on external_group_members (external_group, source);
create index external_group_members_by_provider on external_group_members (provider);
create index external_group_members_by_expire_time on external_group_members (expire_time);

-- The latest `expire_time` of the memberships of an identity; null if it has none,
-- so that calls need not look for memberships.
alter table identities add column external_until bigint;

-- Role bindings have a new field. An empty shape makes the next start render their rows again.
update role_bindings set shape = '';
