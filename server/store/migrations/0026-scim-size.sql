-- Limits the size of the SCIM data of a provider: the members of all its groups, and the bytes of the JSON of its users
-- and groups.
alter table scim_settings add column member_count bigint not null default 0;
alter table scim_settings add column json_bytes bigint not null default 0;
update scim_settings set
  member_count = (select count(*) from scim_members m join scim_groups g on g.uid = m.group_uid
    where g.provider = scim_settings.provider),
  json_bytes = (select coalesce(sum(octet_length(u.json)), 0) from scim_users u where u.provider = scim_settings.provider)
    + (select coalesce(sum(octet_length(g.json)), 0) from scim_groups g where g.provider = scim_settings.provider);
