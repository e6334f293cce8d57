-- Advisories. Searches find them by `terms` and `texts`, which are indexed in separate tables.

create table advisories (
  uid text /*pg collate "C" */ primary key,
  parent text /*pg collate "C" */ not null references groups (uid),
  root text /*pg collate "C" */ not null,
  name text /*pg collate "C" */ not null,
  advisory_id text /*pg collate "C" */ not null,
  artifact_name text /*pg collate "C" */ not null,
  number bigint not null,
  origin text not null,
  terms text /*pg collate "C" */ not null,
  texts text /*pg collate "C" */ not null,
  create_time bigint not null,
  update_time bigint not null,
  proto bytea not null,
  json text not null,
  shape text not null
);
create index advisories_by_number on advisories (number);
create unique index advisories_by_advisory_id on advisories (advisory_id);
create index advisories_by_root_advisory_id on advisories (root, advisory_id, uid);
create index advisories_by_root_artifact_name on advisories (root, artifact_name, uid);
create index advisories_by_root_create_time on advisories (root, create_time, uid);
create index advisories_by_root_update_time on advisories (root, update_time, uid);
create index advisories_by_parent on advisories (parent, uid);
create index advisories_by_parent_advisory_id on advisories (parent, advisory_id, uid);
create index advisories_by_parent_artifact_name on advisories (parent, artifact_name, uid);
create index advisories_by_parent_create_time on advisories (parent, create_time, uid);
create index advisories_by_parent_update_time on advisories (parent, update_time, uid);

-- The numbers of the advisories that have a term. `term` is a hash of the organization and the term. Hashes may
-- collide, so a search also compares the `terms` of the advisories that it finds. Numbers instead of uids keep these
-- tables small: there are dozens of rows for each advisory.
create table advisory_terms (
  term bigint not null,
  advisory bigint not null,
  primary key (term, advisory)
) /*pg -- */ without rowid
;

-- The texts that substring searches look in, each once for each organization, and the trigrams
-- (three consecutive characters) of these texts. Rows of texts that no advisory contains any more
-- may stay: they match no advisory.
create table advisory_texts (
  number bigint not null,
  content text /*pg collate "C" */ not null,
  primary key (number, content)
) /*pg -- */ without rowid
;

create table advisory_trigrams (
  trigram bigint not null,
  content bigint not null,
  primary key (trigram, content)
) /*pg -- */ without rowid
;

-- Withdrawn advisories. No list contains them, but they can be read by uid. They are not counted in the tally, and are
-- deleted with their group.
create table withdrawn_advisories (
  uid text /*pg collate "C" */ primary key,
  parent text /*pg collate "C" */ not null references groups (uid) on delete cascade,
  root text /*pg collate "C" */ not null,
  name text /*pg collate "C" */ not null,
  create_time bigint not null,
  update_time bigint not null,
  proto bytea not null,
  json text not null,
  shape text not null
);
create index withdrawn_advisories_by_parent on withdrawn_advisories (parent, uid);
-- `name` is the id under which the advisory was published. No other advisory may get this id.
create unique index withdrawn_advisories_by_name on withdrawn_advisories (name);

-- The records that advisories were imported from. `source` identifies the record and the part of it that became the
-- advisory, `hash` is a hash of the organization and the source, `number` is the number of the advisory.
create table advisory_sources (
  hash bigint not null,
  source text not null,
  number bigint not null,
  advisory text not null,
  digest text not null,
  format text not null,
  record text not null,
  -- When the import last changed the advisory. If the advisory has a later update time, it may differ from the record.
  update_time bigint not null,
  primary key (hash, source)
);
create index advisory_sources_by_number on advisory_sources (number);
