-- The client id of an identity provider. The provider of a token is found by the token's issuer and
-- audience, which is the client id.
alter table identity_providers add column client_id text /*pg collate "C" */ not null default '';
create index identity_providers_by_client on identity_providers (issuer, client_id);
drop index identity_providers_by_issuer;
update identity_providers set shape = '';
