-- Refresh tokens. Only the digest of a token's secret is stored. The tokens of one sign-in have the same `family`.

create table refresh_tokens (
  id text primary key,
  family text not null,
  identity text /*pg collate "C" */ not null references identities (uid) on delete cascade,
  audience text not null,
  digest text not null,
  expire_time bigint not null,
  is_used bigint not null default 0
);
create index refresh_tokens_by_family on refresh_tokens (family);
create index refresh_tokens_by_identity on refresh_tokens (identity);
create index refresh_tokens_by_expire_time on refresh_tokens (expire_time);
