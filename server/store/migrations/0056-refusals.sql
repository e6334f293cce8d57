-- The number of events that the sink has refused since the last success. Before, `failures` included them, so that the
-- first pause of a sink that had refused some events was as long as after many failures.
alter table delivery_queues add column refusals bigint not null default 0;
