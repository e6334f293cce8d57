-- Metadata that callers state about themselves, except the company, which is stored in the identity.
create table identity_metadata (
  identity text /*pg collate "C" */ primary key references identities (uid) on delete cascade,
  proto bytea not null
);

-- Documents that groups have accepted. `accepted_by` has no foreign key: an acceptance outlives the
-- identity.
create table terms_acceptances (
  place text /*pg collate "C" */ not null references groups (uid) on delete cascade,
  document text /*pg collate "C" */ not null,
  accepted_by text /*pg collate "C" */ not null,
  create_time bigint not null,
  primary key (place, document)
);

-- Organizations that were created with an invite for their owner. `creator` has no foreign key, so
-- that a person who deletes their account and signs in again still counts as the creator.
create table unclaimed_organizations (
  organization text /*pg collate "C" */ primary key references groups (uid) on delete cascade,
  creator text /*pg collate "C" */ not null,
  expire_time bigint not null
);
create index unclaimed_organizations_by_creator on unclaimed_organizations (creator, expire_time, organization);
