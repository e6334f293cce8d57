// How much content a repo has. A size is the sum of several rows, its stripes, like a count of the
// tally (server/store/tally.ts), so that parallel pushes to one repo rarely wait for each other.
// The sum is not stored, so SQL renders it into the response.
import { RepoSchema } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import type { Sql } from '../../store/sql.ts'
import { raw, sql } from '../../store/sql.ts'
import type { Form } from '../../store/table.ts'
import { stripe } from '../../store/tally.ts'
import type { Work } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'
import { countContent } from './content-usage.ts'
import { varintField } from './varint-sql.ts'

/** `reserved` bytes were counted for uploads that have now ended, and do not count any more. */
export type SizeChange = { size: number; manifests?: number; reserved?: number }

/**
 * Must be called in every transaction that adds content to a repo or removes content from it.
 * Throws if a limit of a group would be exceeded. Should be called last, because it locks rows
 * that other transactions need.
 */
export function* adjustRepoSize(
  access: WriteAccess,
  repo: string,
  { size, manifests = 0, reserved = 0 }: SizeChange,
): Work<void> {
  yield sql`insert into repo_sizes (repo, stripe, size, manifests)
    values (${repo}, ${stripe}, ${size}, ${manifests}) on conflict (repo, stripe) do update
    set size = repo_sizes.size + excluded.size, manifests = repo_sizes.manifests + excluded.manifests`
  yield* countContent(access, repo, size - reserved)
}

/** For a repo whose size was found to be wrong. The table of sizes must be locked. */
export function* replaceRepoSize(
  _access: WriteAccess,
  repo: string,
  { size, manifests }: { size: number; manifests: number },
): Work<void> {
  yield sql`delete from repo_sizes where repo = ${repo}`
  yield sql`insert into repo_sizes (repo, stripe, size, manifests) values (${repo}, 0, ${size}, ${manifests})`
}

/** The number of manifests of a repo, or of all repos below a group. */
export function* countManifests(uid: string): Work<number> {
  // `0` is the character after `/`.
  const rows = yield sql`select coalesce(sum(manifests), 0) from repo_sizes
    where repo = ${uid} or (repo > ${`${uid}/`} and repo < ${`${uid}0`})`
  return rows[0]?.[0] as number
}

const { number: fieldNumber, jsonName } = RepoSchema.field.size
const sizeBytes = varintField(fieldNumber, 'n')

/** Repos as they are sent: the stored row, followed by the size, which is left out if the repo has no content. */
export function renderedWithSize(form: Form): Sql {
  if (form.kind === 'bytes')
    return sql`cast(repos.proto || coalesce(${sizeAs(sizeBytes)}, ${raw("''")}) as blob)`
  const json = sizeAs(raw(`',${JSON.stringify(jsonName)}:"' || n || '"'`))
  const ownJson = raw('substr(repos.json, 1, length(repos.json) - 1)')
  return sql`case when ${raw(`repos.shape = '${form.shape}'`)}
    then ${ownJson} || coalesce(${json}, ${raw("''")}) || ${raw("'}'")} end`
}

/** `expression` renders the number of bytes, `n`. */
const sizeAs = (expression: Sql): Sql => sql`(select ${expression} from (select cast(sum(size) as bigint) as n
  from repo_sizes where repo = repos.uid) total where n > 0)`
