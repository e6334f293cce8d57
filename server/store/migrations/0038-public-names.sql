-- Since when everybody may pull from a repo by its present name, in milliseconds since 1970; 0 if the repo is not public.
-- Names of organizations are not unique, and the repo that has been public under a name for longest is meant by it.
alter table repos add column public_since bigint not null default 0;
update repos set public_since = create_time where public = 1;
