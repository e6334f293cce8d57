// Shows and sets the limits on the number of resources in an organization or another group.
import { isUid, lineage } from '../aip/uid.ts'
import { readConfig } from '../config/config.ts'
import { firstReached, limitsOnPath, usedIn } from '../limits/quota/effective-limit.ts'
import { kindNamed, parseLimits } from '../limits/quota/limit-names.ts'
import { operatorAccessFor } from '../policy/system-access.ts'
import type { GroupLimits } from '../resources/dependencies.ts'
import { replaceLimits } from '../resources/iam/groups/replace-limits.ts'
import { groups } from '../resources/iam/groups/table.ts'
import { readResource } from '../resources/stored-resource.ts'
import { groupLimitsOf } from '../settings.ts'
import type { Store } from '../store/db.ts'
import { readAllUsage } from '../store/quota.ts'
import type { Work } from '../store/work.ts'
import type { Command, CommandContext } from './command.ts'
import { UsageError, usageOf } from './command.ts'
import { throwUsageError } from './throw-usage-error.ts'
import { withPreparedStore } from './with-store.ts'

export const limits: Command = async (args, context) => {
  const { config, flags, positionals } = readConfig(context.env, args, { json: { type: 'boolean' } })
  const [action = '', uid = '', ...words] = positionals
  const groupLimits = groupLimitsOf(config)
  const makeChange = Object.hasOwn(actions, action) ? actions[action] : undefined
  if (!makeChange || uid === '') throw usageOf('limits')
  if (!isUid(uid)) throw new UsageError(`${JSON.stringify(uid)} is not the uid of a group`)
  const change = makeChange(words, groupLimits.kinds)
  const report = await withPreparedStore(config, context, async ({ store }) => {
    if (change) await replace(store, action, uid, change, groupLimits, context)
    return store.read(() => reportOf(uid, groupLimits))
  })
  context.stdout.write(flags.json === true ? `${JSON.stringify(report)}\n` : tableOf(report))
  return 0
}

type Change = (current: ReadonlyMap<string, number>) => ReadonlyMap<string, number>

/** Returns undefined if nothing is to be changed. */
type Action = (words: readonly string[], kinds: readonly string[]) => Change | undefined

const actions: Record<string, Action> = {
  get(words) {
    if (words.length > 0) throw usageOf('limits')
    return undefined
  },
  set(words, kinds) {
    if (words.length === 0) throw new UsageError('name at least one limit, such as repos=100')
    const changed = parseWords(words, kinds)
    return (current) => new Map([...current, ...changed])
  },
  unset(words, kinds) {
    if (words.length === 0) throw new UsageError('name the limits to remove, such as repos, or all')
    if (words.length === 1 && words[0] === 'all') return () => new Map()
    const removed = new Set(words.map((word) => requireKind(word, kinds)))
    return (current) => new Map([...current].filter(([kind]) => !removed.has(kind)))
  },
}

function parseWords(words: readonly string[], kinds: readonly string[]): ReadonlyMap<string, number> {
  const entries = words.map((word): [string, number] => {
    const [, name = '', digits] = /^([^=]+)=(\d{1,10})$/.exec(word) ?? []
    if (digits === undefined)
      throw new UsageError(`${JSON.stringify(word)} is not a name and a whole number, such as repos=100`)
    return [name, Number(digits)]
  })
  const parsed = parseLimits(entries, kinds)
  const [first] = parsed.faults
  if (first) throw new UsageError(`${JSON.stringify(first.name)} ${first.fault}`)
  return parsed.limits
}

function requireKind(name: string, kinds: readonly string[]): string {
  const kind = kindNamed(name, kinds)
  if (kind === undefined) throw new UsageError(`${JSON.stringify(name)} is not one of ${kinds.join(', ')}`)
  return kind
}

async function replace(
  store: Store,
  action: string,
  uid: string,
  change: Change,
  { defaults }: GroupLimits,
  { now }: CommandContext,
): Promise<void> {
  await store
    .write(() =>
      replaceLimits(operatorAccessFor(`stemmad limits ${action}`), {
        uid,
        change,
        defaults,
        now: now(),
        mayNameInErrors: () => true,
      }),
    )
    .catch(throwUsageError)
}

/** `limit` is the one that is reached first; `from` is the uid of its group, or `default`. */
type KindReport = { used: number; limit?: number; from?: string }
type LimitReport = {
  group: { uid: string; name: string }
  limits: Record<string, number>
  kinds: Record<string, KindReport>
}

function* reportOf(uid: string, { kinds, defaults }: GroupLimits): Work<LimitReport> {
  const group = yield* readResource(groups, uid)
  if (!group) throw new UsageError(`there is no group ${uid}`)
  const path = lineage(uid)
  const usage = yield* readAllUsage(path)
  const byKind = kinds.map((kind): [string, KindReport] => {
    const used = usedIn(kind, uid, usage)
    const first = firstReached(limitsOnPath(kind, path, usage, defaults))
    return [
      kind,
      first ? { used, limit: first.limit, from: first.isDefault ? 'default' : first.group } : { used },
    ]
  })
  return { group: { uid, name: group.name }, limits: group.resourceLimits, kinds: Object.fromEntries(byKind) }
}

function tableOf({ group, kinds }: LimitReport): string {
  const rows = Object.entries(kinds).map(([kind, { used, limit, from = '' }]) => [
    ...[kind, String(used), limit === undefined ? '-' : String(limit)],
    from === group.uid ? 'this group' : from,
  ])
  const all = [['KIND', 'USED', 'LIMIT', 'LIMIT GROUP'], ...rows]
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  const lines = all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return `${group.name} (${group.uid})\n\n${lines.join('\n')}\n`
}
