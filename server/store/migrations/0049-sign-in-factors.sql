-- Whether the sign-in of a refresh token has proven a second factor. It is unknown for earlier sign-ins, and counts as
-- not proven.

alter table refresh_tokens add column second_factor integer not null default 0;
