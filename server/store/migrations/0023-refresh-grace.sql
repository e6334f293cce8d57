-- When a refresh token was used, in milliseconds since 1970. If it is used again soon after that,
-- it yields the same successor (server/auth/refresh). Null if it was not used, or was used before
-- this column existed.

alter table refresh_tokens add column use_time bigint;
