-- Responses to creates that were sent with an idempotency key. `id` and `digest` are keyed hashes (of caller, method and
-- key; of the request), and `sealed` is the response, encrypted: a row reveals neither key, request nor response. The
-- newest of a caller are kept, in two classes: large responses and others.

create table idempotency_keys (
  id text /*pg collate "C" */ primary key,
  caller text /*pg collate "C" */ not null references identities (uid) on delete cascade,
  is_large bigint not null,
  digest text not null,
  create_time bigint not null,
  expire_time bigint not null,
  sealed bytea not null
);
create index idempotency_keys_by_caller on idempotency_keys (caller, is_large, create_time, id);
create index idempotency_keys_by_expire_time on idempotency_keys (expire_time);
