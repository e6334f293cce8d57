-- Advisories, with what they are found by beside them: `terms` and `texts` also lie in a table each, by which few
-- are found among many.

create table advisories (
  uid text /*pg collate "C" */ primary key,
  parent text /*pg collate "C" */ not null references groups (uid),
  root text /*pg collate "C" */ not null,
  name text /*pg collate "C" */ not null,
  advisory_id text /*pg collate "C" */ not null,
  artifact_name text /*pg collate "C" */ not null,
  origin text not null,
  terms text /*pg collate "C" */ not null,
  texts text /*pg collate "C" */ not null,
  create_time bigint not null,
  update_time bigint not null,
  proto bytea not null,
  json text not null,
  shape text not null
);
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

create table advisory_terms (
  root text /*pg collate "C" */ not null,
  term text /*pg collate "C" */ not null,
  uid text /*pg collate "C" */ not null,
  primary key (root, term, uid)
) /*pg -- */ without rowid
;

-- Every text that a query may find a part of, once for each organization; and in which of them three characters
-- stand together. What no advisory says any more may stay: it leads to nothing.
create table advisory_texts (
  root text /*pg collate "C" */ not null,
  content text /*pg collate "C" */ not null,
  primary key (root, content)
) /*pg -- */ without rowid
;

create table advisory_trigrams (
  root text /*pg collate "C" */ not null,
  trigram text /*pg collate "C" */ not null,
  content text /*pg collate "C" */ not null,
  primary key (root, trigram, content)
) /*pg -- */ without rowid
;

-- Those that were withdrawn: nobody looks for them, but whoever knows one can read it.
create table withdrawn_advisories (
  uid text /*pg collate "C" */ primary key,
  parent text /*pg collate "C" */ not null references groups (uid),
  root text /*pg collate "C" */ not null,
  name text /*pg collate "C" */ not null,
  create_time bigint not null,
  update_time bigint not null,
  proto bytea not null,
  json text not null,
  shape text not null
);
create index withdrawn_advisories_by_parent on withdrawn_advisories (parent, uid);

-- The record that an advisory was imported from, and which of its parts it is: `source` names the record.
create table advisory_sources (
  root text /*pg collate "C" */ not null,
  source text /*pg collate "C" */ not null,
  advisory text /*pg collate "C" */ not null,
  digest text not null,
  format text not null,
  record text not null,
  primary key (root, source)
);
create unique index advisory_sources_by_advisory on advisory_sources (advisory);
