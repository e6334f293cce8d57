-- The client of an identity provider. Tokens that were issued to it are found by issuer and client.
alter table identity_providers add column client_id text /*pg collate "C" */ not null default '';
create index identity_providers_by_client on identity_providers (issuer, client_id);
drop index identity_providers_by_issuer;
update identity_providers set shape = '';
