-- Sign-in for people.

-- Who signs in with a password. One who has chosen none yet has an empty one, which nothing matches.
-- The operator vouches for the addresses of some; others only claim theirs.
create table accounts (
  email text primary key,
  identity text /*pg collate "C" */ not null references identities (uid) on delete cascade,
  password text not null,
  is_vouched bigint not null
);
create index accounts_by_identity on accounts (identity);

-- What is remembered for a while: sessions, codes, refresh tokens, links. `id` and what else finds a row are
-- digests of what only its bearer knows, and `sealed` is encrypted.
create table sign_in_states (
  id text primary key,
  sealed bytea not null,
  grant_id text,
  user_code text,
  session_uid text,
  identity text /*pg collate "C" */ references identities (uid) on delete cascade,
  use_time bigint,
  expire_time bigint not null
);
create index sign_in_states_by_grant_id on sign_in_states (grant_id) where grant_id is not null;
create index sign_in_states_by_user_code on sign_in_states (user_code) where user_code is not null;
create index sign_in_states_by_session_uid on sign_in_states (session_uid) where session_uid is not null;
create index sign_in_states_by_identity on sign_in_states (identity) where identity is not null;
create index sign_in_states_by_expire_time on sign_in_states (expire_time);

-- Who was signed out everywhere, and in which second: no sign-in of before is good any more, whatever was under
-- way just then.
create table sign_outs (
  identity text /*pg collate "C" */ primary key references identities (uid) on delete cascade,
  second bigint not null
);

-- Who has come by a provider of a group before, and so has been given its default role. It outlives the person:
-- whoever deletes themselves and comes again comes not for the first time.
create table arrivals (
  place text /*pg collate "C" */ not null references groups (uid) on delete cascade,
  identity text /*pg collate "C" */ not null,
  primary key (place, identity)
);

-- By whose tokens people can be registered.
alter table identity_providers add column issuer text /*pg collate "C" */ not null default '';
create index identity_providers_by_issuer on identity_providers (issuer);
update identity_providers set shape = '';
