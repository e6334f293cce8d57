-- Finds the organizations that have due queues, and the oldest due queue of each, without reading their other queues.
create index delivery_queues_by_root on delivery_queues (is_proven, root, due_time, subscription)
  where due_time is not null;
