// Tasks that one copy of the server performs for all copies, again and again.
import { sql } from './sql.ts'
import type { Work } from './work.ts'
import { first } from './work.ts'

/**
 * Reads whether the task is due. It is due as well if its time is further away than an interval, because then the clock
 * or a setting has changed.
 */
export function* isDue(name: string, now: number, intervalMs: number): Work<boolean> {
  const row = yield* first(sql`select next_time from tasks where name = ${name}`)
  const next = row?.[0] as number | undefined
  return next === undefined || next <= now || next > now + intervalMs
}

/** Whether the caller is to perform the task now. Only one copy gets true in each interval. */
export function* claimTask(name: string, now: number, intervalMs: number): Work<boolean> {
  const rows = yield sql`insert into tasks (name, next_time) values (${name}, ${now + intervalMs})
    on conflict (name) do update set next_time = excluded.next_time
    where tasks.next_time <= ${now} or tasks.next_time > ${now + intervalMs} returning name`
  return rows.length > 0
}

/** For a task that was claimed at `claimTime` and is not done: makes it due at once. */
export function* releaseTask(name: string, now: number, claimTime: number, intervalMs: number): Work<void> {
  yield sql`update tasks set next_time = ${now} where name = ${name} and next_time = ${claimTime + intervalMs}`
}
