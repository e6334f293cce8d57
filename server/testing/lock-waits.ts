// PostgreSQL statements that let tests run two transactions in a known order.

/** Waits until another transaction of the database waits for a lock of this one, or the condition is true. */
export const untilAnotherWaitsOr = (condition: string) => `do $$ begin
  while not (${condition}) and not exists (select from pg_stat_activity where datname = current_database()
      and pg_backend_pid() = any (pg_blocking_pids(pid))) loop
    perform pg_stat_clear_snapshot(), pg_sleep(0.01);
  end loop; end $$`

/** Waits until another transaction of the database waits for a lock of this one. */
export const untilAnotherWaits = untilAnotherWaitsOr('false')
