-- The request that uses an upload, and until when. Both are null if there is none. One request at a time may append to an
-- upload or finish it, whichever thread or copy of the server it reaches.

alter table uploads add column lease text;
alter table uploads add column lease_until bigint;
