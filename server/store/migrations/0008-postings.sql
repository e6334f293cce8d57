-- The search index of advisories. `term` is a hash of an organization and a term. `advisories` has
-- the `number` of every advisory of the segment that has the term, eight bytes each. A segment
-- contains the advisories that were written together: thousands by an import, or a single one.
-- Three consecutive characters of a text are also a term, so text is searched here too. Hashes may
-- collide, so a search also tests the advisories that it finds.
drop table advisory_terms;
drop table advisory_texts;
drop table advisory_trigrams;

create table advisory_postings (
  term bigint not null,
  segment bigint not null,
  count bigint not null,
  advisories bytea not null,
  primary key (term, segment)
) /*pg -- */ without rowid
;

-- The next start of the server puts the existing advisories, which have the segment 0, into segments.
alter table advisories add column segment bigint not null default 0;
create index advisories_without_segment on advisories (uid) where segment = 0;

-- Lists of a group's children use the indexes of the organization instead: every index slows down imports.
drop index advisories_by_parent_advisory_id;
drop index advisories_by_parent_artifact_name;
drop index advisories_by_parent_create_time;
drop index advisories_by_parent_update_time;
