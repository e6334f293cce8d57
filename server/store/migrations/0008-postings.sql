-- What advisories are found by, packed: for the hash of an organization and a term, the numbers of the advisories
-- of a segment that have it, eight bytes each. A segment holds what was written at the same time: an import of
-- thousands, or one advisory. Three characters that stand together are a term like any other, so this is also what
-- free text is looked for in. Hashes may meet by chance: whoever finds an advisory here looks at it as well.
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

-- Those that are in no segment yet are put into one at the next start.
alter table advisories add column segment bigint not null default 0;
create index advisories_without_segment on advisories (uid) where segment = 0;

-- The organization's indexes serve what lies directly in a group as well; each index more slows down imports.
drop index advisories_by_parent_advisory_id;
drop index advisories_by_parent_artifact_name;
drop index advisories_by_parent_create_time;
drop index advisories_by_parent_update_time;
