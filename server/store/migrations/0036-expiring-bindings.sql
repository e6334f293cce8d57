-- Role bindings can expire. The end of the year 9999 stands for never, so that reading grants takes one comparison.
alter table role_bindings add column expire_time bigint not null default 253402300799000;

-- Grants are read from this index alone. The unique index without the time remains: an identity has a role in a group
-- once.
create index role_bindings_granting on role_bindings (identity, parent, role, expire_time);

-- Both indexes contain only bindings that expire: the first for their deletion, the second for
-- totals.
create index role_bindings_by_expire_time on role_bindings (expire_time, uid) where expire_time < 253402300799000;
create index role_bindings_by_root_expire_time on role_bindings (root, expire_time, uid)
  where expire_time < 253402300799000;

-- Role bindings have new fields.
update role_bindings set shape = '';
