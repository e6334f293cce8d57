-- Delivery of events to the sinks of subscriptions (docs/internals/delivery.md). Times are in milliseconds since 1970.

-- Secrets that sign requests, encrypted; empty if there is none. Both sign until `previous_secret_until`.
alter table subscriptions add column secret text not null default '';
alter table subscriptions add column previous_secret text not null default '';
alter table subscriptions add column previous_secret_until bigint not null default 0;
-- 0 for subscriptions that are older than this column, until the next start sets their state.
alter table subscriptions add column state bigint not null default 0;
create index subscriptions_without_state on subscriptions (uid) where state = 0;
update subscriptions set shape = '';

-- The queue of each subscription. `position` is the sequence of the last event that has been taken
-- from the log. A replay takes the events after `replay_position` up to `replay_end` once more.
-- `due_time` is null if nothing is to be sent. A copy of the server that works on the queue has a
-- lease. `is_proven` is 1 while the sink works. `failures` is the number of failures since the last
-- success, and `failing_since` the time of the first of them.
create table delivery_queues (
  subscription text /*pg collate "C" */ primary key references subscriptions (uid) on delete cascade deferrable initially deferred,
  parent text /*pg collate "C" */ not null,
  root text /*pg collate "C" */ not null,
  is_active bigint not null,
  position bigint not null,
  replay_position bigint,
  replay_end bigint,
  due_time bigint,
  lease text,
  lease_until bigint not null default 0,
  is_proven bigint not null default 0,
  failures bigint not null default 0,
  failing_since bigint,
  wants_handshake bigint not null default 1
);
create index delivery_queues_due on delivery_queues (is_proven, due_time, subscription) where due_time is not null;
create index delivery_queues_idle on delivery_queues (parent, subscription) where due_time is null and is_active = 1;
insert into delivery_queues (subscription, parent, root, is_active, position, due_time)
  select uid, parent, root, 1, 0, 0 from subscriptions;

-- Events on their way to a sink, and those that arrived or failed. `sequence` is that of the event in its organization.
-- A test event is not in the log: `test_event` is its content as JSON, and its sequence is 0. `step` counts the
-- attempts of the current schedule, `attempts` is the JSON of the last attempts. `next_time` is null unless pending.
create table deliveries (
  uid text /*pg collate "C" */ primary key,
  subscription text /*pg collate "C" */ not null references subscriptions (uid) on delete cascade,
  sequence bigint not null,
  event_id text not null,
  event_type text not null,
  subject text not null,
  test_event text,
  state bigint not null,
  create_time bigint not null,
  deadline bigint not null,
  next_time bigint,
  step bigint not null default 0,
  finish_time bigint,
  attempts text not null default '[]'
);
create index deliveries_by_time on deliveries (subscription, create_time, uid);
create index deliveries_by_state on deliveries (subscription, state, create_time, uid);
create index deliveries_pending on deliveries (subscription, next_time, uid) where next_time is not null;
create index deliveries_finished on deliveries (finish_time, uid) where finish_time is not null;
