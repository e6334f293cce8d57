-- Advisories, with what they are found by beside them: `terms` and `texts` also lie in a table each, by which few
-- are found among many.

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

-- By the hash of an organization and a term, the numbers of advisories that have it. Hashes may meet by chance, so
-- whoever finds one here looks at its `terms` as well. Numbers keep these tables small: there are dozens of rows
-- for each advisory.
create table advisory_terms (
  term bigint not null,
  advisory bigint not null,
  primary key (term, advisory)
) /*pg -- */ without rowid
;

-- Every text that a query may find a part of, once for each organization; and in which of them three characters
-- stand together. What no advisory says any more may stay: it leads to nothing.
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

-- Those that were withdrawn: nobody looks for them, but whoever knows one can read it. They are in no total, and go
-- with their group.
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
-- By the name under which it was published, which is not given again.
create unique index withdrawn_advisories_by_name on withdrawn_advisories (name);

-- The record that an advisory was imported from: `source` names it and which of its parts it is, `hash` is of the
-- organization and the source, `number` that of the advisory.
create table advisory_sources (
  hash bigint not null,
  source text not null,
  number bigint not null,
  advisory text not null,
  digest text not null,
  format text not null,
  record text not null,
  -- When the advisory was changed by the import: if it was changed since, it says more than the record.
  update_time bigint not null,
  primary key (hash, source)
);
create index advisory_sources_by_number on advisory_sources (number);
