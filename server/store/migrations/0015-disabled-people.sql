-- People whom the operator has disabled. `disabled_second` is the second in which that happened; while it is set,
-- `second` is later than every sign-in, so that no token and no session is valid. Enabling sets `second` to the current
-- time, or to `disabled_second` if that is later.

alter table sign_outs add column disabled_second bigint;
