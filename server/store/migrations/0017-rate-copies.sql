-- The copies of the server that are running, each with the calls that it has counted lately. Every copy writes its row
-- once a second (server/limits/sharing/copies.ts). Unlogged, because the rows are worthless after a crash. Not part of a
-- backup. `round` is the number of the latest write, by which other copies see that this one is running.

create /*pg unlogged */ table rate_copies (
  id text /*pg collate "C" */ primary key,
  round bigint not null,
  usage text not null
);
