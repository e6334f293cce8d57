-- Events that are not sealed yet have a table of their own. A writer then maintains one index, and sealing moves the rows
-- into `events`, which is only appended to. Before, sealing updated each row: PostgreSQL stored it twice, and every insert
-- opened four indexes.

create table unsealed_events (
  id text /*pg collate "C" */ primary key,
  root text /*pg collate "C" */ not null,
  group_uid text /*pg collate "C" */ not null,
  kind text /*pg collate "C" */ not null,
  uid text /*pg collate "C" */ not null,
  action text /*pg collate "C" */ not null,
  method text /*pg collate "C" */ not null,
  actor text /*pg collate "C" */ not null,
  origin text not null,
  time bigint not null,
  code bigint not null,
  details text,
  before bytea,
  after bytea
);
insert into unsealed_events (id, root, group_uid, kind, uid, action, method, actor, origin, time, code, details, before, after)
  select id, root, group_uid, kind, uid, action, method, actor, origin, time, code, details, before, after
  from events where sequence is null;

create table sealed_events (
  id text /*pg collate "C" */ not null,
  root text /*pg collate "C" */ not null,
  group_uid text /*pg collate "C" */ not null,
  kind text /*pg collate "C" */ not null,
  uid text /*pg collate "C" */ not null,
  action text /*pg collate "C" */ not null,
  method text /*pg collate "C" */ not null,
  actor text /*pg collate "C" */ not null,
  origin text not null,
  time bigint not null,
  code bigint not null,
  details text,
  before bytea,
  after bytea,
  sequence bigint not null,
  hash text not null,
  primary key (root, sequence)
);
insert into sealed_events (id, root, group_uid, kind, uid, action, method, actor, origin, time, code, details, before, after,
    sequence, hash)
  select id, root, group_uid, kind, uid, action, method, actor, origin, time, code, details, before, after, sequence, hash
  from events where sequence is not null;
drop table events;
alter table sealed_events rename to events;
create index events_by_time on events (root, time, sequence);
