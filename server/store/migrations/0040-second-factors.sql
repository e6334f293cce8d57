-- Second factors of people who sign in with a password.

-- `id` is the credential id in base64url. `counter` is the signature counter of the last use: a lower one comes from a
-- copy of the authenticator. `is_synced` is 1 if the authenticator copies the passkey to other devices of its owner.
create table passkeys (
  id text /*pg collate "C" */ primary key,
  identity text /*pg collate "C" */ not null references identities (uid) on delete cascade,
  name text not null,
  public_key bytea not null,
  counter bigint not null,
  transports text not null,
  is_synced bigint not null,
  create_time bigint not null,
  use_time bigint
);
create index passkeys_by_identity on passkeys (identity, create_time, id);

-- Time-based one-time passwords (RFC 6238). `sealed` is the encrypted secret. `last_step` is the time step of the last
-- accepted code: codes of this step and of earlier ones are refused. A row without `confirm_time` is not used yet.
create table authenticator_apps (
  identity text /*pg collate "C" */ primary key references identities (uid) on delete cascade,
  sealed bytea not null,
  last_step bigint not null,
  create_time bigint not null,
  confirm_time bigint
);

-- Recovery codes that were not used yet. A code has 80 random bits, so a digest without a salt is enough.
create table recovery_codes (
  identity text /*pg collate "C" */ not null references identities (uid) on delete cascade,
  digest text /*pg collate "C" */ not null,
  primary key (identity, digest)
);
