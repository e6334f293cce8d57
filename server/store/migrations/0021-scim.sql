-- Provisioning by SCIM: an identity provider creates, changes and deactivates people and groups.

-- The token is stored as a digest. `token_digest` is null before the first token.
-- `token_expire_time` is null if the token does not expire. The previous token works until
-- `previous_expire_time`. The counts are stored to limit the users and groups of a provider.
create table scim_settings (
  provider text /*pg collate "C" */ primary key references identity_providers (uid) on delete cascade,
  is_enabled bigint not null,
  version bigint not null,
  token_digest text,
  token_expire_time bigint,
  previous_digest text,
  previous_expire_time bigint,
  revoke_time bigint,
  user_count bigint not null default 0,
  group_count bigint not null default 0
);

-- `json` is the resource without the attributes that are computed when it is read. `identity` is the person, once they
-- have signed in through the provider.
create table scim_users (
  uid text /*pg collate "C" */ primary key,
  provider text /*pg collate "C" */ not null references identity_providers (uid) on delete cascade,
  user_name text /*pg collate "C" */ not null,
  external_id text /*pg collate "C" */,
  is_active bigint not null,
  identity text /*pg collate "C" */ references identities (uid) on delete set null,
  create_time bigint not null,
  update_time bigint not null,
  version bigint not null,
  json text not null
);
create unique index scim_users_by_user_name on scim_users (provider, user_name);
create unique index scim_users_by_external_id on scim_users (provider, external_id);
create index scim_users_by_provider on scim_users (provider, uid);
create index scim_users_by_identity on scim_users (identity);

-- `mapping_id` is the id of the group in mappings of external groups to roles.
create table scim_groups (
  uid text /*pg collate "C" */ primary key,
  provider text /*pg collate "C" */ not null references identity_providers (uid) on delete cascade,
  display_name text /*pg collate "C" */ not null,
  external_id text /*pg collate "C" */,
  mapping_id text /*pg collate "C" */ not null,
  create_time bigint not null,
  update_time bigint not null,
  version bigint not null,
  json text not null
);
create index scim_groups_by_display_name on scim_groups (provider, display_name);
create index scim_groups_by_mapping_id on scim_groups (provider, mapping_id);
create unique index scim_groups_by_external_id on scim_groups (provider, external_id);
create index scim_groups_by_provider on scim_groups (provider, uid);

create table scim_members (
  group_uid text /*pg collate "C" */ not null references scim_groups (uid) on delete cascade,
  user_uid text /*pg collate "C" */ not null references scim_users (uid) on delete cascade,
  primary key (group_uid, user_uid)
);
create index scim_members_by_user on scim_members (user_uid);

-- Like `sign_outs`, with times in seconds since 1970, but only for sign-ins through one identity provider. Rows are kept
-- when the provider is deleted, so that this does not revive the tokens of deactivated people.
create table provider_sign_outs (
  identity text /*pg collate "C" */ not null references identities (uid) on delete cascade,
  provider text /*pg collate "C" */ not null,
  second bigint not null,
  disabled_second bigint,
  primary key (identity, provider)
);

-- The identity provider of a sign-in; null for a sign-in with a password.
alter table sign_in_states add column provider text /*pg collate "C" */;
alter table refresh_tokens add column provider text /*pg collate "C" */;

-- Identity providers have a new field. An empty shape makes the next start render their rows again.
update identity_providers set shape = '';
