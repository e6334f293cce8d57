-- Sign-ins that were ended, by a revoked refresh token or by signing out, while their access tokens may not have
-- expired. Rows are deleted once all of those tokens have expired.

create table ended_sign_ins (
  id text /*pg collate "C" */ primary key,
  expire_time bigint not null
);
create index ended_sign_ins_by_expire_time on ended_sign_ins (expire_time);
