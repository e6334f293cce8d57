-- States of sign-in that belong to nobody yet: sign-ins under way, device codes, sessions without a person. Anyone can
-- make them, so their number is limited, for each client network and in total: the newest by `anonymous_time` are kept.
-- `network` is a digest.

alter table sign_in_states add column network text /*pg collate "C" */;
alter table sign_in_states add column anonymous_time bigint;
create index sign_in_states_by_network on sign_in_states (network, anonymous_time) where network is not null;
create index sign_in_states_by_anonymous_time on sign_in_states (anonymous_time) where anonymous_time is not null;
