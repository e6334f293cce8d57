-- People who may administer the server through the API.
create table operators (
  identity text /*pg collate "C" */ primary key references identities (uid) on delete cascade,
  create_time bigint not null
);
