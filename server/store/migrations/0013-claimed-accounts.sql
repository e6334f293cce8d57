-- Accounts that were made with an invite. Each only claims its address, and several accounts may claim the same address.
-- Creating an account therefore neither reserves the address nor reveals whether the address already has an account. An
-- account is found by its address and its password, whose hash has the same salt for all accounts of an address. An empty
-- password matches nothing.

create table claimed_accounts (
  identity text /*pg collate "C" */ primary key references identities (uid) on delete cascade,
  email text /*pg collate "C" */ not null,
  password text /*pg collate "C" */ not null
);
create index claimed_accounts_by_email on claimed_accounts (email);
create unique index claimed_accounts_by_password on claimed_accounts (email, password) where password <> '';
