// Reads the tags of a repo, each with the decision of the retention rules.
import type { Store } from '../../../store/db.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
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
  const digests = rows.flatMap(([, name]) => subjectOf(name) ?? [])
  if (digests.length === 0) return { rows, subjects: new Set() }
  const found = yield sql`select digest from manifests where repo = ${repo} and digest in ${among(digests)}
    union select digest from tags where parent = ${repo} and digest in ${among(digests)}`
  return { rows, subjects: new Set(found.map(([digest]) => digest as string)) }
}

/** The digest that the tag of referrers is named after (OCI Distribution, "Referrers Tag Schema", and cosign). */
function subjectOf(name: string): string | undefined {
  const hex = /^sha256-([0-9a-f]{64})(?:\.|$)/.exec(name)?.[1]
  return hex === undefined ? undefined : `sha256:${hex}`
}
