-- The event log: one row for each change, sign-in, token issue, refused write and command of the operator. A row is the
-- entry of the audit log and the source of what subscriptions receive (docs/internals/audit.md).
--
-- `id` starts with the time. `group_uid` is the group in which it happened, and `root` its organization. `before` and
-- `after` are the resource as protobuf bytes. `details` and `origin` are JSON. `code` is the status code, 0 for success.
-- `time` is in milliseconds since 1970.
--
-- Rows are inserted without `sequence` and `hash`. Sealing numbers the rows of each organization and chains their hashes;
-- afterwards a row never changes. Indexes for readers contain only sealed rows, so an insert maintains only two indexes.

create table events (
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
  after bytea,
  sequence bigint,
  hash text
);
create index events_unsealed on events (id) where sequence is null;
create unique index events_by_sequence on events (root, sequence) where sequence is not null;
create index events_by_time on events (root, time, sequence) where sequence is not null;

-- The hash chain of each organization. `sequence` and `hash` are those of its last row. Retention deletes the oldest rows:
-- `first_sequence` and `first_time` are those of the oldest row that is kept, `anchor` is the hash of the row before it.
create table event_chains (
  root text /*pg collate "C" */ primary key,
  sequence bigint not null,
  hash text not null,
  first_sequence bigint not null,
  anchor text not null,
  first_time bigint
);
create index event_chains_by_first_time on event_chains (first_time, root) where first_time is not null;
