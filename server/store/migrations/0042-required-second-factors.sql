-- Organizations whose people need a second factor to sign in with a password.

alter table groups add column second_factor_required bigint not null default 0;
