-- Finds the referrers of a manifest that have one artifact type, without reading those of other types.
create index manifests_by_artifact_type on manifests (repo, subject, artifact_type, digest) where subject is not null;
