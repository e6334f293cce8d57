-- Lists of invites by the time at which they expire.

create index group_invites_by_root_expire_time on group_invites (root, expire_time, uid);
create index group_invites_by_parent_expire_time on group_invites (parent, expire_time, uid);
