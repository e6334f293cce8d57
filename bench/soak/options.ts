import { parseArgs } from 'node:util'
import { attacks } from './attacks/attack-list.ts'

/** All durations are in seconds. */
export type SoakOptions = {
  /** How long the server is attacked. */
  attack: number
  /** How long the well-behaved clients are measured without attacks. */
  idle: number
  warmUp: number
  /** How long the capacity of the server is measured. */
  capacity: number
  /** Names of the attacks. */
  attacks: string[]
  /** Number of workers of the server, or `auto`. */
  workers: string
  /** Whether the server uses PostgreSQL, on the same machine. */
  isOnPostgres: boolean
  /** Further flags of stemmad. */
  serverFlags: string[]
}

export const usage = `Usage: npm run soak -- [--seconds 600] [--attacks NAME,NAME] [--workers 1] [--postgres]
Attacks: ${Object.keys(attacks).join(', ')}`

/** Access tokens are valid for an hour, and the phases before the attack use up some of it. */
const maxSeconds = 3000

export function parseOptions(args: string[]): SoakOptions {
  const { values } = parseArgs({
    args,
    options: {
      ...{ seconds: { type: 'string' }, attacks: { type: 'string' }, workers: { type: 'string' } },
      postgres: { type: 'boolean' },
    },
  })
  const attack = Number(values.seconds ?? 600)
  if (!(attack >= 5 && attack <= maxSeconds)) throw new Error(`--seconds must be between 5 and ${maxSeconds}`)
  const chosen = values.attacks?.split(',') ?? Object.keys(attacks)
  const unknown = chosen.filter((name) => !Object.hasOwn(attacks, name))
  if (unknown.length > 0) throw new Error(`unknown attack ${unknown.join(', ')}`)
  return {
    attack,
    // A p99 needs at least a hundred calls of each client.
    idle: Math.min(60, Math.max(5, attack / 4)),
    warmUp: 10,
    capacity: Math.min(5, attack / 10),
    attacks: chosen,
    workers: values.workers ?? '1',
    isOnPostgres: values.postgres ?? false,
    serverFlags: values.workers === undefined ? [] : ['--workers', values.workers],
  }
}
