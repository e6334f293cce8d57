-- Unfinished sign-ins and sessions without a person are no longer stored; browsers keep them in encrypted cookies. Device
-- codes that nobody has entered yet are still stored. `network` is set for those: digests of three networks of the
-- client, from wide to narrow, separated by slashes.

delete from sign_in_states where network is not null;
drop index sign_in_states_by_network;
drop index sign_in_states_by_anonymous_time;
alter table sign_in_states drop column anonymous_time;
create index sign_in_states_by_network on sign_in_states (network, expire_time) where network is not null;
