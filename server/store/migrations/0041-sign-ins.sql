-- Where people are signed in, to be shown to them. `id` is the id of the sign-in in its access
-- tokens or, for the session of a browser at the sign-in pages, the digest of its uid; `is_browser`
-- is 1 for the latter. The rows do not decide whether a sign-in is valid: the tables of states,
-- tokens and sign-outs do.

create table sign_ins (
  id text /*pg collate "C" */ primary key,
  identity text /*pg collate "C" */ not null references identities (uid) on delete cascade,
  is_browser bigint not null,
  client text /*pg collate "C" */ not null,
  address text not null,
  user_agent text not null,
  create_time bigint not null,
  use_time bigint not null,
  expire_time bigint not null
);
create index sign_ins_by_identity on sign_ins (identity, use_time);
create index sign_ins_by_expire_time on sign_ins (expire_time);
