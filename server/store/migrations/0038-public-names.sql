-- Since when everybody may pull from a repo by its present name, in milliseconds since 1970; 0 if the repo is not public.
-- Names of organizations are not unique. A name refers to the repo that has been public under it for longest; repos of
-- verified organizations come first.
alter table repos add column public_since bigint not null default 0;
update repos set public_since = create_time where public = 1;
