-- The role bindings of workloads that belong to another organization than the binding. The uid of a person has 40
-- characters, and the uid of a workload begins with the 40 characters of the uid of its organization.
create index role_bindings_of_foreign_workloads on role_bindings (root, identity, expire_time)
  where length(identity) > 40 and substr(identity, 1, 40) <> root;
