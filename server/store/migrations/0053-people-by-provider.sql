-- The people who have signed in through an identity provider, read in batches when its issuer changes.

create index scim_users_by_provider_identity on scim_users (provider, identity);
create index sign_in_states_by_provider on sign_in_states (provider) where provider is not null;
create index refresh_tokens_by_provider on refresh_tokens (provider) where provider is not null;
