/** A PostgreSQL statement. Has rows if a transaction of the database has changed a tag and has not ended. */
export const writeLocksOnTags = `select 1 from pg_locks
  where relation = 'tags'::regclass and mode = 'RowExclusiveLock' and database =
    (select oid from pg_database where datname = current_database())`
