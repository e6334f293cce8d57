// Verifies the hash chains of the event log. Servers may seal and delete events meanwhile.
import type { Store } from '../db.ts'
import { sql } from '../sql.ts'
import type { Work } from '../work.ts'
import { first } from '../work.ts'
import type { SealedEvent } from './event-row.ts'
import { chainHash, chainStart } from './event-row.ts'
import { readSealed } from './read-sealed.ts'

/** The first wrong entry of a chain. */
export type ChainFault = {
  root: string
  sequence: number
  fault: 'missing' | 'changed' | 'added' | 'cut off'
}

/** A chain that was verified. `hash` is that of its last entry: a copy of it elsewhere proves that nothing was replaced. */
export type ChainHead = { root: string; entries: number; sequence: number; hash: string }

export type ChainVerdict = { head: ChainHead; fault: ChainFault | undefined }

const rowsPerRead = 200

/** Yields a verdict for each chain. */
export async function* verifyChains(store: Store): AsyncGenerator<ChainVerdict, void, void> {
  for (let root = await nextRoot(store, ''); root !== undefined; root = await nextRoot(store, root))
    yield await verifyChain(store, root)
}

/** The next organization, person or server that has a chain, or events without a chain. */
async function nextRoot(store: Store, after: string): Promise<string | undefined> {
  const [chain] = await store.query(
    sql`select root from event_chains where root > ${after} order by root limit 1`,
  )
  const [event] = await store.query(sql`select root from events where root > ${after} order by root limit 1`)
  const roots = [chain, event].flatMap((row) => (row ? [row[0] as string] : []))
  return roots.sort()[0]
}

type Chain = { sequence: number; hash: string; firstSequence: number; anchor: string }

const emptyChain: Chain = { sequence: 0, hash: chainStart, firstSequence: 1, anchor: chainStart }

type Batch = { chain: Chain; events: SealedEvent[]; hasOlder: boolean }

async function verifyChain(store: Store, root: string): Promise<ChainVerdict> {
  let position = 0
  let hash = chainStart
  let entries = 0
  for (;;) {
    const { chain, events, hasOlder } = await store.read(() => readBatch(root, position))
    const head = () => ({ root, entries, sequence: position, hash })
    const faultAt = (sequence: number, fault: ChainFault['fault']) => ({
      head: head(),
      fault: { root, sequence, fault },
    })
    if (hasOlder) return faultAt(chain.firstSequence - 1, 'added')
    // Retention has deleted the entries in between, before this verification or during it.
    if (chain.firstSequence - 1 > position) {
      position = chain.firstSequence - 1
      hash = chain.anchor
    }
    for (const event of events) {
      if (event.sequence <= position) continue
      if (event.sequence > chain.sequence) return faultAt(event.sequence, 'added')
      if (event.sequence !== position + 1) return faultAt(position + 1, 'missing')
      if (event.hash !== chainHash(hash, event.sequence, event)) return faultAt(event.sequence, 'changed')
      position = event.sequence
      hash = event.hash
      entries++
    }
    if (events.length === rowsPerRead) continue
    if (position < chain.sequence) return faultAt(position + 1, 'cut off')
    return hash === chain.hash ? { head: head(), fault: undefined } : faultAt(position, 'changed')
  }
}

/** `deleted`: retention has deleted the entry with its hash. Only the hash of the last deleted entry is kept. */
export type HeadVerdict = 'same' | 'replaced' | 'deleted'

/** Compares a chain with the head that it had earlier. */
export function* compareHead({ root, sequence, hash }: Omit<ChainHead, 'entries'>): Work<HeadVerdict> {
  const { firstSequence, anchor } = yield* readChain(root)
  if (sequence < firstSequence - 1) return 'deleted'
  const entry = sql`select hash from events where root = ${root} and sequence = ${sequence}`
  const found = sequence === firstSequence - 1 ? anchor : (yield* first(entry))?.[0]
  return found === hash ? 'same' : 'replaced'
}

function* readChain(root: string): Work<Chain> {
  const row = yield* first(
    sql`select sequence, hash, first_sequence, anchor from event_chains where root = ${root}`,
  )
  const [sequence, hash, firstSequence, anchor] = (row ?? []) as [number, string, number, string]
  return row ? { sequence, hash, firstSequence, anchor } : emptyChain
}

function* readBatch(root: string, position: number): Work<Batch> {
  const chain = yield* readChain(root)
  const older = yield sql`select 1 from events
    where root = ${root} and sequence < ${chain.firstSequence} limit 1`
  const after = Math.max(position, chain.firstSequence - 1)
  return { chain, events: yield* readSealed(root, after, rowsPerRead), hasOlder: older.length > 0 }
}
