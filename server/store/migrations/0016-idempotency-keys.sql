-- Responses to creates that were sent with an idempotency key. `id` is a keyed hash of caller, method and key,
-- `digest` a keyed hash of the request, and `sealed` the encrypted response: a row reveals neither key, request nor
-- response. Only the newest responses of a caller are kept, with one limit for large responses and one for others.

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
