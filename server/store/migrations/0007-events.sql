-- Where the events of groups are to be sent.

create table subscriptions (
  uid text /*pg collate "C" */ primary key,
  parent text /*pg collate "C" */ not null references groups (uid),
  root text /*pg collate "C" */ not null,
  name text /*pg collate "C" */ not null,
  create_time bigint not null,
  update_time bigint not null,
  proto bytea not null,
  json text not null,
  shape text not null
);
create index subscriptions_by_root_create_time on subscriptions (root, create_time, uid);
create index subscriptions_by_root_update_time on subscriptions (root, update_time, uid);
create index subscriptions_by_parent on subscriptions (parent, uid);
create index subscriptions_by_parent_create_time on subscriptions (parent, create_time, uid);
create index subscriptions_by_parent_update_time on subscriptions (parent, update_time, uid);
