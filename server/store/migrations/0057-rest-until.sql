-- Until `rest_until` the sink gets no request, even if somebody asks for one, because it has sent `Retry-After` or allows
-- no more requests in this minute.
alter table delivery_queues add column rest_until bigint not null default 0;
