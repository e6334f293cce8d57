-- How many requests in a minute the sink of a subscription allows, as it said in the handshake. Null if it set no limit.
alter table delivery_queues add column allowed_rate bigint;
