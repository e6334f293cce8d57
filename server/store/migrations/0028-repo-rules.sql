-- Rules of repos. `public` is 1 if everybody may pull. `immutable_tags` are the patterns of tags that cannot be moved or
-- deleted, separated by spaces.

alter table repos add column public bigint not null default 0;
alter table repos add column immutable_tags text not null default '';

-- The definition of repos has changed. An empty shape makes the next start render their rows again.
update repos set shape = '';
