-- Indexes for lists of who has access: the members of an external group in order, and the people suspended in a group.
create index external_group_members_in_order on external_group_members (external_group, identity, expire_time);
create index provider_sign_outs_at_place on provider_sign_outs (place) where place is not null;
