-- A new event makes a queue due, but not before `wake_after`: until then the sink is left alone, because it fails or
-- allows no further request. Earlier versions woke only queues without a `due_time`, so new events waited for the next
-- attempt of an event that the sink had refused.
alter table delivery_queues add column wake_after bigint not null default 0;
drop index delivery_queues_idle;
create index delivery_queues_idle on delivery_queues (parent, subscription)
  where is_active = 1 and (due_time is null or due_time > wake_after);
