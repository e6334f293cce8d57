import type { Config } from '../config/config.ts'
import { readConfig } from '../config/config.ts'
import { contentStorage } from '../content-storage.ts'
import { operatorAccessFor } from '../policy/system-access.ts'
import type { RepoSize, SizeDifference } from '../resources/registry/check-repo-sizes.ts'
import { checkRepoSizes } from '../resources/registry/check-repo-sizes.ts'
import { completePlatforms } from '../resources/registry/content/complete-platforms.ts'
import { contentAmount } from '../resources/registry/content-usage.ts'
import { talliedKinds } from '../storage.ts'
import type { Difference } from '../store/check.ts'
import { checkTally } from '../store/check.ts'
import type { Store } from '../store/db.ts'
import { loadMigrations } from '../store/migrations.ts'
import { sql } from '../store/sql.ts'
import type { WriteAccess } from '../store/write-access.ts'
import type { ContentFinding, ContentReport } from './check-content.ts'
import { checkContent } from './check-content.ts'
import type { IdentityFinding } from './check-identities.ts'
import { checkIdentities } from './check-identities.ts'
import { checkAuditLog, checkRows } from './check-rows.ts'
import type { Command, CommandContext } from './command.ts'
import { usageOf } from './command.ts'
import { countOf, formatBytes } from './format-bytes.ts'
import { openProgress } from './progress.ts'
import { recordCommand } from './record-command.ts'
import { withStore } from './with-store.ts'

export const check: Command = async (args, context) => {
  const { env } = context
  const { config, flags, positionals } = readConfig(env, args, {
    repair: { type: 'boolean' },
    digests: { type: 'boolean' },
  })
  if (positionals.length > 0) throw usageOf('check')
  const shouldRepair = flags.repair === true
  const shouldHash = flags.digests === true
  const repairAccess = shouldRepair ? operatorAccessFor('stemmad check --repair') : undefined
  const { differences, sizes, rows, findings, auditFaults, content } = await withStore(
    config,
    async (store) => {
      await store.migrate(loadMigrations())
      const differences = await checkTally(store, talliedKinds, shouldRepair, [contentAmount])
      const sizes = await checkRepoSizes(store, repairAccess)
      const content = await checkStorage(config, store, context, { shouldHash, repairAccess })
      const rows = await checkRows(store, context.now(), repairAccess)
      const repaired = differences.length + sizes.length + rows.length + (content?.completed ?? 0)
      if (repairAccess)
        await store.write(() => recordCommand(repairAccess, 'store', 'repaired', { repaired }))
      const [findings, auditFaults] = [await checkIdentities(store), await checkAuditLog(store)]
      return { differences, sizes, rows, content, findings, auditFaults }
    },
  )
  for (const difference of differences) context.stdout.write(describe(difference))
  for (const difference of sizes) context.stdout.write(describeSize(difference))
  context.stdout.write(summarize(differences.length + sizes.length, shouldRepair))
  for (const line of rows) context.stdout.write(line)
  if (rows.length > 0) context.stdout.write(summarizeRows(rows.length, shouldRepair))
  for (const line of auditFaults) context.stdout.write(line)
  if (auditFaults.length > 0) context.stdout.write(summarizeAudit(auditFaults.length))
  for (const finding of findings) context.stdout.write(describeFinding(finding))
  if (content?.completed) context.stdout.write(describeCompleted(content.completed))
  if (content) context.stdout.write(describeContent(content, shouldHash))
  const areTotalsCorrect = differences.length + sizes.length + rows.length === 0 || shouldRepair
  const arePatternsSafe = findings.every(({ kind }) => kind === 'warning')
  const isContentPresent = !content || content.findings.length === 0
  const isSound = areTotalsCorrect && arePatternsSafe && isContentPresent && auditFaults.length === 0
  return isSound ? 0 : 1
}

/** Undefined if the registry has no blobs, because its storage need not exist then. */
async function checkStorage(
  config: Config,
  store: Store,
  { stderr }: CommandContext,
  { shouldHash, repairAccess }: { shouldHash: boolean; repairAccess: WriteAccess | undefined },
): Promise<(ContentReport & { completed: number }) | undefined> {
  const [row] = await store.query(
    sql`select count(*), (select count(*) from blobs b where exists (select 1 from repo_blobs r where r.digest = b.digest))
      from blobs`,
  )
  const [all, linked] = row as [number, number]
  if (all === 0) return undefined
  const content = contentStorage(config)
  const progress = openProgress('blobs', { stream: stderr })
  let done = 0
  const onBlob = () => progress.update(++done, linked)
  try {
    const storage = await content.open()
    const completed = repairAccess ? await completePlatforms(store, storage, repairAccess) : 0
    return { ...(await checkContent({ store, storage, onBlob }, shouldHash)), completed }
  } finally {
    progress.end()
    await content.close()
  }
}

const describeCompleted = (count: number) =>
  `The platforms of ${countOf(count, 'manifest')} were missing and have been added.\n`

function describeContent({ blobs, bytes, faults, findings }: ContentReport, shouldHash: boolean): string {
  const all = `${countOf(blobs, 'blob')} of the registry (${formatBytes(bytes)})`
  if (findings.length === 0)
    return `${all}: none is missing${shouldHash ? ', and all have the right content' : ''}.\n`
  return `${findings.map(describeBlob).join('')}${all}: ${faults} cannot be used. ${remedy}\n`
}

function describeBlob({ digest, fault, repos, repoCount }: ContentFinding): string {
  const named = repos.map(({ uid, name }) => `${name} (${uid})`).join(', ')
  const others = repoCount > repos.length ? ` and ${repoCount - repos.length} others` : ''
  return `blob ${digest} ${fault}. Repos: ${named}${others}\n`
}

const remedy =
  'Copy these blobs from a backup of the content to the storage, and check again. Without a backup, delete the manifests and blobs from these repos and push the images again: clients do not push a blob that the repo seems to have.'

const describeFinding = ({ kind, identity, field, description }: IdentityFinding) =>
  kind === 'warning'
    ? `warning: the identity ${identity}: ${field} ${description}\n`
    : `unsafe pattern of the identity ${identity}: ${field} ${description}\n`

function describe({ kind, group, tallied, counted }: Difference): string {
  return `${kind} in ${group}: the stored totals are ${tallied.children} directly in it and ${tallied.subtree} at all levels, the correct totals are ${counted.children} and ${counted.subtree}\n`
}

function describeSize({ repo, stored, counted }: SizeDifference): string {
  const text = ({ size, manifests }: RepoSize) => `${size} bytes and ${countOf(manifests, 'manifest')}`
  return `the repo ${repo}: the stored size is ${text(stored)}, the correct size is ${text(counted)}\n`
}

const summarizeRows = (count: number, shouldRepair: boolean) =>
  shouldRepair
    ? `${countOf(count, 'fault')} corrected.\n`
    : `${countOf(count, 'fault')} found; stemmad check --repair corrects ${count === 1 ? 'it' : 'them'}.\n`

const summarizeAudit = (count: number) =>
  `${countOf(count, 'fault')} of the audit log found, which stemmad check --repair cannot correct.\n`

function summarize(count: number, shouldRepair: boolean): string {
  if (count === 0) return 'All totals are correct.\n'
  const wrong = count === 1 ? '1 total was wrong' : `${count} totals were wrong`
  return shouldRepair
    ? `${wrong} and ${count === 1 ? 'has' : 'have'} been corrected.\n`
    : `${wrong}; stemmad check --repair corrects wrong totals.\n`
}
