-- Sign-ins that were ended, by a revoked refresh token or by signing out. A row is deleted when
-- all access tokens of its sign-in have expired.

create table ended_sign_ins (
  id text /*pg collate "C" */ primary key,
  expire_time bigint not null
);
create index ended_sign_ins_by_expire_time on ended_sign_ins (expire_time);
