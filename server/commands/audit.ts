import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { isUid, rootOf } from '../aip/uid.ts'
import type { Config } from '../config/config.ts'
import { readConfig } from '../config/config.ts'
import type { EventRow } from '../store/events/event-row.ts'
import { serverLog } from '../store/events/event-row.ts'
import { recordedEvents } from '../store/events/recorded-events.ts'
import type { ChainFault, ChainHead, HeadVerdict } from '../store/events/verify-chains.ts'
import { compareHead, verifyChains } from '../store/events/verify-chains.ts'
import { loadMigrations } from '../store/migrations.ts'
import type { Command } from './command.ts'
import { UsageError, usageOf } from './command.ts'
import { countOf } from './format-bytes.ts'
import { withStore } from './with-store.ts'

export const audit: Command = async (args, { env, stdout, stderr }) => {
  const { config, flags, positionals } = readConfig(env, args, {
    heads: { type: 'boolean' },
    compare: { type: 'string' },
  })
  const [action, uid = serverLog, ...extra] = positionals
  const hasFlags = flags.heads !== undefined || flags.compare !== undefined
  if (action === 'list' && extra.length === 0 && !hasFlags) return printEntries(config, uid, stdout)
  if (action !== 'verify' || positionals.length !== 1) throw usageOf('audit')
  const earlierHeads = typeof flags.compare === 'string' ? await readHeads(flags.compare) : []
  return withStore(config, async (store) => {
    await store.migrate(loadMigrations())
    // The output of --heads is a file for --compare.
    const output = flags.heads === true ? stderr : stdout
    let [chains, entries, faults] = [0, 0, 0]
    for await (const { head, fault } of verifyChains(store)) {
      chains++
      entries += head.entries
      // If the first entry is wrong, the head has no hash, and there is nothing to compare with later.
      if (flags.heads === true && head.hash !== '') stdout.write(describeHead(head))
      if (!fault) continue
      faults++
      output.write(describeFault(fault))
    }
    for (const head of earlierHeads) {
      const verdict = await store.read(() => compareHead(head))
      if (verdict === 'replaced') faults++
      if (verdict !== 'same') output.write(describeEntry(head, verdicts[verdict]))
    }
    const all = `${entries} ${entries === 1 ? 'entry' : 'entries'} of ${countOf(chains, 'log')}`
    const result = faults === 0 ? 'all are as they were recorded' : `${countOf(faults, 'fault')} found`
    output.write(`${all}: ${result}.\n`)
    return faults === 0 ? 0 : 1
  })
}

async function readHeads(file: string): Promise<Omit<ChainHead, 'entries'>[]> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new UsageError(`--compare: ${error.message}`)
  })
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, root, sequence, hash] = /^(\S{1,100}) (\d{1,15}) ([0-9a-f]{64})$/.exec(line) ?? []
      if (root === undefined || hash === undefined)
        throw new UsageError(
          `--compare: ${file} is not the output of audit verify --heads: ${JSON.stringify(line)}`,
        )
      return { root, sequence: Number(sequence), hash }
    })
}

async function printEntries(config: Config, uid: string, stdout: NodeJS.WriteStream): Promise<number> {
  if (uid !== serverLog && !(isUid(uid) && uid === rootOf(uid)))
    throw new UsageError(`${JSON.stringify(uid)} is not the uid of an organization or person`)
  await withStore(config, async (store) => {
    await store.migrate(loadMigrations())
    for await (const entry of recordedEvents(store, uid))
      if (!stdout.write(lineOf(entry))) await once(stdout, 'drain')
  })
  return 0
}

function lineOf({ time, method, action, kind, uid, actor, code, origin, details }: EventRow): string {
  const entry = {
    ...{ time: new Date(time).toISOString(), method, action, kind, uid, actor, code },
    origin: JSON.parse(origin),
    ...(details !== null && { details: JSON.parse(details) }),
  }
  return `${JSON.stringify(entry)}\n`
}

const describeHead = ({ root, sequence, hash }: ChainHead) => `${root} ${sequence} ${hash}\n`

const meanings: Record<ChainFault['fault'], string> = {
  missing: 'is missing',
  changed: 'was changed, or an entry before it was replaced',
  added: 'was added, and is not part of the chain',
  'cut off': 'and all later ones are missing',
}

const verdicts: Record<Exclude<HeadVerdict, 'same'>, string> = {
  replaced: 'is missing or was replaced',
  deleted: 'was deleted by retention, and cannot be compared',
}

const describeEntry = ({ root, sequence }: Pick<ChainHead, 'root' | 'sequence'>, text: string) =>
  `entry ${sequence} of ${root} ${text}\n`

export const describeFault = (fault: ChainFault) => describeEntry(fault, meanings[fault.fault])
