-- Limits on the number of resources of a kind in and below a group. `quota` is null if there is no
-- limit. All stripes of a count have the same quota, because a create reads it from the row that it
-- updates.

alter table tally add column quota bigint;

-- Finds the limits in an organization. Almost always empty, so looking into it costs nearly nothing.
create index tally_with_quota on tally (place, kind) where quota is not null and stripe = 0;
