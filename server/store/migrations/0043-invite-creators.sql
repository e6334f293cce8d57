-- Who created an invite, for the page that shows the invite to its guest. Empty for invites that
-- are older than this column.

alter table group_invites add column creator text /*pg collate "C" */ not null default '';
