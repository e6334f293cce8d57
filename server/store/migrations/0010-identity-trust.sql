-- Identities that accept tokens of this server for other identities are found by issuer and subject, or by a pattern.
-- `pattern_issuer` is set if the issuer or the subject is a pattern. It is the issuer, or `~` if that is a pattern.
-- `trusted_root` is the other organization that the subject of an identity with a pattern names, if it names just one.

alter table identities add column pattern_issuer text /*pg collate "C" */;
alter table identities add column trusted_root text /*pg collate "C" */;
create index identities_by_known_by on identities (known_by) where known_by <> '';
create index identities_by_root_pattern_issuer on identities (root, pattern_issuer) where pattern_issuer is not null;
create index identities_by_trusted_root on identities (trusted_root, pattern_issuer) where trusted_root is not null;
update identities set shape = '';
