-- Identities are found by the issuer and subject of their tokens: by a hash of both, as these can be long.

alter table identities add column known_by text /*pg collate "C" */ not null default '';
create index identities_by_root_known_by on identities (root, known_by, uid);
update identities set shape = '';
