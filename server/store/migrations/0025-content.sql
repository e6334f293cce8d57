-- The content of repos. Blobs are stored once, outside of the database, and are shared: a repo has a blob if `repo_blobs`
-- has a row for both. `review_after` is the time after which a blob that nothing refers to may be deleted.

create table blobs (
  digest text /*pg collate "C" */ primary key,
  size bigint not null,
  create_time bigint not null,
  review_after bigint not null
);
create index blobs_by_review on blobs (review_after, digest);

create table repo_blobs (
  repo text /*pg collate "C" */ not null references repos (uid),
  digest text /*pg collate "C" */ not null references blobs (digest),
  primary key (repo, digest)
);
create index repo_blobs_by_digest on repo_blobs (digest, repo);

-- `size` is the size of `content`; `total_size` adds the sizes of everything that the manifest consists of.
-- `platforms` are those of the image or index, such as `linux/amd64,linux/arm/v7`. `annotations` are a JSON object.
create table manifests (
  repo text /*pg collate "C" */ not null references repos (uid),
  digest text /*pg collate "C" */ not null,
  media_type text /*pg collate "C" */ not null,
  artifact_type text /*pg collate "C" */ not null,
  subject text /*pg collate "C" */,
  config text /*pg collate "C" */,
  annotations text not null,
  platforms text not null,
  size bigint not null,
  total_size bigint not null,
  create_time bigint not null,
  content bytea not null,
  primary key (repo, digest)
);
create index manifests_by_subject on manifests (repo, subject, digest);

-- The blobs and manifests that a manifest consists of: `kind` is blob or manifest.
create table manifest_references (
  repo text /*pg collate "C" */ not null,
  manifest text /*pg collate "C" */ not null,
  digest text /*pg collate "C" */ not null,
  kind text not null,
  primary key (repo, manifest, digest),
  foreign key (repo, manifest) references manifests (repo, digest) on delete cascade
);
create index manifest_references_by_digest on manifest_references (repo, digest);

-- Blobs that are being uploaded. `state` is data that the blob storage needs to continue the upload.
create table uploads (
  id text /*pg collate "C" */ primary key,
  repo text /*pg collate "C" */ not null references repos (uid),
  identity text /*pg collate "C" */ not null,
  size bigint not null,
  state text not null,
  create_time bigint not null,
  update_time bigint not null
);
create index uploads_by_repo on uploads (repo);
create index uploads_by_time on uploads (update_time, id);
