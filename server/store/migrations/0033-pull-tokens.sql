-- `pull_token` is 1 for the identity of a pull token. The next start renders all identities again,
-- because their message has a new field.

alter table identities add column pull_token bigint not null default 0;
create index identities_of_pull_tokens on identities (root, uid) where pull_token = 1;
update identities set shape = '';
