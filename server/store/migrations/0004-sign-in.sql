-- Sign-in for people.

-- People who sign in with a password. `password` is a hash; it is empty, and matches nothing, until a password
-- is chosen. `is_vouched` is 1 if the operator vouches for the address, and 0 if the person only claims it.
create table accounts (
  email text primary key,
  identity text /*pg collate "C" */ not null references identities (uid) on delete cascade,
  password text not null,
  is_vouched bigint not null
);
create index accounts_by_identity on accounts (identity);

-- States of sign-in that expire: sessions, codes, refresh tokens, links. `id`, `grant_id`, `user_code` and
-- `session_uid` are digests of secrets that only the owner of the state knows, and `sealed` is the encrypted state.
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

-- People who were signed out everywhere, and in which second. Sign-ins in that second or earlier are no longer valid.
create table sign_outs (
  identity text /*pg collate "C" */ primary key references identities (uid) on delete cascade,
  second bigint not null
);

-- People who have signed in with an identity provider of a group and got its default role, which is given only once.
-- The row is kept when the identity is deleted, so a person who returns does not get the role again.
create table arrivals (
  place text /*pg collate "C" */ not null references groups (uid) on delete cascade,
  identity text /*pg collate "C" */ not null,
  primary key (place, identity)
);

-- The issuer of the provider: people can be registered with tokens of that issuer.
alter table identity_providers add column issuer text /*pg collate "C" */ not null default '';
create index identity_providers_by_issuer on identity_providers (issuer);
update identity_providers set shape = '';
