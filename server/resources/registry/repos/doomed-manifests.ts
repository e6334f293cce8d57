// The manifests that retention would delete, without deleting them.
import type { Store } from '../../../store/db.ts'
import type { Pause } from './pause.ts'
import type { Dependent } from './read-dependents.ts'
import { readChildren, readDependents, readReferrers } from './read-dependents.ts'
import type { UntaggedManifest } from './untagged-manifests.ts'
import { readUntagged } from './untagged-manifests.ts'

export type DoomedManifest = UntaggedManifest & { reason: string }

export const maxDoomed = 10_000
/** Few, because each may be an index of 2000 manifests. */
const digestsPerRead = 10
const dependentsPerRead = 100
/** Bounds the memory that a search takes. */
const maxDependents = 100_000

type Search = {
  store: Store
  repo: string
  pause: Pause
  doomed: Map<string, DoomedManifest>
  /** The dependents that were found so far, each with the number of users that it still has. */
  dependents: Map<string, Dependent>
}

/**
 * Returns at most `maxDoomed`. The users of a manifest are the indexes that contain it, and its
 * subject. A manifest is deleted when all of its users are; if the last of them is not its subject,
 * it must also have been untagged since `cutoff` or earlier. The users are counted once, when the
 * manifest is found; each user that is deleted then decreases the count.
 */
export async function doomedManifests(
  store: Store,
  repo: string,
  cutoff: number,
  pause: Pause,
): Promise<DoomedManifest[]> {
  const search: Search = { store, repo, pause, doomed: new Map(), dependents: new Map() }
  const { doomed, dependents } = search
  const isFull = () => doomed.size >= maxDoomed || dependents.size >= maxDependents
  let last: UntaggedManifest | undefined
  do {
    const page = await store.read(() => readUntagged(repo, cutoff, last))
    await pause()
    let next = add(
      doomed,
      page.manifests.map((manifest) => ({ ...manifest, reason: 'no tag' })),
    )
    while (next.length > 0 && !isFull()) {
      const unused = await readUnused(search, next.slice(0, digestsPerRead))
      const isDue = ({ untaggedSince, isWithSubject }: Unused) => isWithSubject || untaggedSince <= cutoff
      next = [...next.slice(digestsPerRead), ...add(doomed, unused.filter(isDue).map(doomedDependent))]
    }
    last = page.last
  } while (last && !isFull())
  return [...doomed.values()]
}

/** Returns the digests of those that were added. */
function add(doomed: Search['doomed'], manifests: readonly DoomedManifest[]): string[] {
  const added = manifests.filter(({ digest }) => !doomed.has(digest)).slice(0, maxDoomed - doomed.size)
  for (const manifest of added) doomed.set(manifest.digest, manifest)
  return added.map(({ digest }) => digest)
}

/** `isWithSubject` if the last user was the subject: it is deleted with its subject, whatever its age. */
type Unused = UntaggedManifest & { isWithSubject: boolean }

const doomedDependent = ({ digest, untaggedSince, isWithSubject }: Unused): DoomedManifest => ({
  ...{ digest, untaggedSince },
  reason: isWithSubject ? 'refers to a deleted manifest' : 'part of a deleted index',
})

/** The manifests that lose their last user when `users` are deleted one after the other. */
async function readUnused({ store, repo, pause, dependents }: Search, users: string[]): Promise<Unused[]> {
  const found = await store.read(() => readChildren(repo, users))
  await pause()
  let after = ''
  do {
    const page = await store.read(() => readReferrers(repo, users, after))
    await pause()
    found.push(...page.uses)
    after = page.last
  } while (after !== '' && dependents.size + found.length < maxDependents)
  const unknown = [...new Set(found.map(({ digest }) => digest))].filter((digest) => !dependents.has(digest))
  for (let at = 0; at < unknown.length; at += dependentsPerRead) {
    const part = unknown.slice(at, at + dependentsPerRead)
    for (const dependent of await store.read(() => readDependents(repo, part)))
      dependents.set(dependent.digest, dependent)
    await pause()
  }
  const byUser = Map.groupBy(found, ({ user }) => user)
  const inOrder = users.flatMap((user) => byUser.get(user) ?? [])
  return inOrder.flatMap(({ user, digest }) => {
    const dependent = dependents.get(digest)
    if (!dependent || --dependent.users !== 0) return []
    return { digest, untaggedSince: dependent.untaggedSince, isWithSubject: user === dependent.subject }
  })
}
