-- An identity can accept tokens that this server issued to other identities. Identities that accept
-- them are found by `known_by`, or by the two new columns if their issuer or subject is a pattern.
-- `pattern_issuer` is the issuer, or `~` if the issuer is a pattern. `trusted_root` is the
-- organization whose uid the subject or its pattern contains, other than the identity's own
-- organization; null if there is none or several.

alter table identities add column pattern_issuer text /*pg collate "C" */;
alter table identities add column trusted_root text /*pg collate "C" */;
create index identities_by_known_by on identities (known_by) where known_by <> '';
create index identities_by_root_pattern_issuer on identities (root, pattern_issuer) where pattern_issuer is not null;
create index identities_by_trusted_root on identities (trusted_root, pattern_issuer) where trusted_root is not null;
update identities set shape = '';
