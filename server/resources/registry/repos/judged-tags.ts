// Reads the tags of a repo, each with the decision of the retention rules.
import type { Store } from '../../../store/db.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { Pause } from './pause.ts'
import type { PushedTag, Verdict } from './retention-rules.ts'

export type JudgedTag = { uid: string; name: string; digest: string; pushTime: number } & Verdict

export const tagsPerRead = 500

/** Pages of all tags, the last pushed one first. Other calls run between two pages. */
export async function* judgedTags(
  store: Store,
  repo: string,
  judge: (tag: PushedTag) => Verdict,
  pause: Pause,
): AsyncGenerator<JudgedTag[]> {
  let last: Row | undefined
  do {
    const { rows, subjects }: Page = await store.read(() => readPage(repo, last))
    last = rows.length < tagsPerRead ? undefined : rows.at(-1)
    yield rows.map(([uid, name, digest, pushTime]) => {
      const subject = subjectOf(name)
      const isNamedAfterManifest = subject !== undefined && subjects.has(subject)
      return { uid, name, digest, pushTime, ...judge({ name, pushTime, isNamedAfterManifest }) }
    })
    await pause()
  } while (last)
}

type Row = [uid: string, name: string, digest: string, pushTime: number]
type Page = { rows: Row[]; subjects: ReadonlySet<string> }

function* readPage(repo: string, last: Row | undefined): Work<Page> {
  const [uid = '', , , pushTime = Number.MAX_SAFE_INTEGER] = last ?? []
  const rows = (yield sql`select uid, name, digest, push_time from tags
    where parent = ${repo} and (push_time, uid) < (${pushTime}, ${uid})
    order by push_time desc, uid desc limit ${tagsPerRead}`) as Row[]
  const named = new Set(rows.flatMap(([, name]) => subjectOf(name) ?? []))
  const digests = [...named].filter((subject) => subject.startsWith('sha256:'))
  const subjects = new Set<string>()
  if (digests.length > 0) {
    const found = yield sql`select digest from manifests where repo = ${repo} and digest in ${among(digests)}
      union select digest from tags where parent = ${repo} and digest in ${among(digests)}`
    for (const [digest] of found) subjects.add(digest as string)
  }
  for (const start of named)
    if (start.startsWith('sha512:') && (yield* hasDigestFrom(repo, start))) subjects.add(start)
  return { rows, subjects }
}

/** Whether the repo has a manifest or a tag whose digest starts with this text. */
function* hasDigestFrom(repo: string, start: string): Work<boolean> {
  const end = `${start}g` // after all hexadecimal digits
  const row = yield* first(sql`select 1 where
    exists (select 1 from manifests where repo = ${repo} and digest > ${start} and digest < ${end})
    or exists (select 1 from tags where parent = ${repo} and digest > ${start} and digest < ${end})`)
  return row !== undefined
}

/**
 * The digest that the tag of referrers is named after (OCI Distribution, "Referrers Tag Schema", and cosign). The name
 * contains 64 digits: a whole sha256 digest, but only the first half of a sha512 digest.
 */
function subjectOf(name: string): string | undefined {
  const [, algorithm, hex] = /^(sha256|sha512)-([0-9a-f]{64})(?:\.|$)/.exec(name) ?? []
  return hex === undefined ? undefined : `${algorithm}:${hex}`
}
