-- While an identity provider has deactivated a person by SCIM, the person's role bindings at or below the group of that
-- provider do not count. `place` is that group, for as long as the person is deactivated. The row has no foreign
-- key to the person, so that people cannot lift the deactivation by deleting their account.
create table provider_sign_outs_with_place (
  identity text /*pg collate "C" */ not null,
  provider text /*pg collate "C" */ not null,
  second bigint not null,
  disabled_second bigint,
  place text /*pg collate "C" */,
  primary key (identity, provider)
);
insert into provider_sign_outs_with_place (identity, provider, second, disabled_second, place)
  select o.identity, o.provider, o.second, o.disabled_second,
    case when o.disabled_second is not null then p.parent end
  from provider_sign_outs o left join identity_providers p on p.uid = o.provider;
drop table provider_sign_outs;
alter table provider_sign_outs_with_place rename to provider_sign_outs;
create index provider_sign_outs_by_place on provider_sign_outs (identity, place) where place is not null;

-- 1 if the person has a `place`, otherwise null. Calls of other people need not look for one.
alter table identities add column suspended bigint;
update identities set suspended = 1
  where uid in (select identity from provider_sign_outs where place is not null);
