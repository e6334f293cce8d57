// Several copies of the server on one PostgreSQL database share their rate limits through a table in which each copy
// has a row: its latest calls, numbered by round. A copy judges by changes between two reads whether another is alive,
// so their clocks need not agree.
import type { Store } from '../../store/db.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import type { Exchange, SharedLimits, Usage } from './shared-usage.ts'

export type CopiesOptions = {
  store: Store
  limits: SharedLimits
  /** Identifies this copy. */
  id: string
  /** A monotonic clock in milliseconds. */
  clock(): number
  /** Milliseconds since 1970, for deadlines of the store. */
  now(): number
}

/** The calls of one round. */
type Batch = [round: number, usage: Usage[]]

/** `round` is the latest round that was read, `changedAt` the time when it was first read. */
type OtherCopy = { round: number; changedAt: number }

/** How many of its latest rounds a copy keeps in its row, for copies that read late. */
const keptBatches = 5
/** A copy whose row does not change for this time has ended or cannot reach the database. */
const deadAfterMs = 10_000
/** Timeout of each transaction. It limits how long a stopping server waits for a database that cannot be reached. */
const timeoutMs = 5000

export function openCopyExchange({ store, limits, id, clock, now }: CopiesOptions): Exchange {
  const others = new Map<string, OtherCopy>()
  let batches: Batch[] = []
  let round = 0

  const write = <T>(work: () => Work<T>) => store.write(work, now() + timeoutMs)

  const remove = (copy: string) =>
    write(function* () {
      yield sql`delete from rate_copies where id = ${copy}`
    })

  function* writeAndRead(text: string): Work<[id: string, round: number, usage: string][]> {
    yield sql`insert into rate_copies (id, round, usage) values (${id}, ${round}, ${text})
      on conflict (id) do update set round = excluded.round, usage = excluded.usage`
    const rows = yield sql`select id, round, usage from rate_copies where id <> ${id}`
    return rows.map(([other, otherRound, usage]) => [String(other), Number(otherRound), String(usage)])
  }

  function learn(other: string, otherRound: number, text: string): void {
    const known = others.get(other)
    if (known?.round === otherRound) return
    // Of a newly found copy, only the latest round counts: buckets have partly refilled since earlier rounds.
    const since = known?.round ?? otherRound - 1
    for (const [number, usage] of JSON.parse(text) as Batch[]) if (number > since) limits.addUsage(usage)
    others.set(other, { round: otherRound, changedAt: clock() })
  }

  /** Forgets copies that have left or are dead. Returns the ids of the dead ones, whose rows are to be deleted. */
  function forgetEnded(present: ReadonlySet<string>): string[] {
    const dead: string[] = []
    for (const [other, { changedAt }] of others) {
      const isDead = clock() - changedAt >= deadAfterMs
      if (isDead) dead.push(other)
      if (isDead || !present.has(other)) others.delete(other)
    }
    return dead
  }

  return {
    async exchange() {
      round++
      batches = [...batches, [round, limits.takeUsage()] satisfies Batch].slice(-keptBatches)
      const text = JSON.stringify(batches.filter(([, usage]) => usage.length > 0))
      const rows = await write(() => writeAndRead(text))
      for (const row of rows) learn(...row)
      const dead = forgetEnded(new Set(rows.map(([other]) => other)))
      limits.setCopies(others.size + 1)
      for (const other of dead) await remove(other)
    },
    leave: () => remove(id),
  }
}
