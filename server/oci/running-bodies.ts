// Limits how many bodies of uploads arrive at a time. Each takes memory, and if blobs are stored in S3, also disk space
// in the spool folder.
import { tooManyRequests } from '../aip/errors.ts'
import { rootOf } from '../aip/uid.ts'

/** 0 means no limit. */
export type MaxBodies = { caller: number; total: number }

export type RunningBodies = {
  /** Throws if too many are running. `repo` is a uid. Returns a function that ends this one. */
  start(caller: string, repo: string): () => void
}

const retrySeconds = 5

/**
 * The part of all bodies that may belong to repos of one organization. Without this limit, an organization with many
 * identities could keep all others from uploading.
 */
const organizationPart = 1 / 4

export function openRunningBodies({ caller: perCaller, total }: MaxBodies): RunningBodies {
  // At least as many as one caller may have.
  const perOrganization = total === 0 ? 0 : Math.max(perCaller, Math.ceil(total * organizationPart))
  const byCaller = openCounts()
  const byOrganization = openCounts()
  let sum = 0
  return {
    start(caller, repo) {
      const organization = rootOf(repo)
      if (perCaller > 0 && byCaller.of(caller) >= perCaller)
        throw tooManyRequests(
          `at most ${perCaller} of your uploads may arrive at a time; wait until one of them ends`,
          retrySeconds,
        )
      if (perOrganization > 0 && byOrganization.of(organization) >= perOrganization)
        throw tooManyRequests(
          `at most ${perOrganization} uploads to the organization may arrive at a time; wait until one of them ends`,
          retrySeconds,
        )
      if (total > 0 && sum >= total)
        throw tooManyRequests('too many uploads are arriving; try again later', retrySeconds)
      byCaller.add(caller, 1)
      byOrganization.add(organization, 1)
      sum++
      return () => {
        byCaller.add(caller, -1)
        byOrganization.add(organization, -1)
        sum--
      }
    },
  }
}

/** Numbers by key. Keys with the number zero have no entry, so the map stays small. */
function openCounts() {
  const counts = new Map<string, number>()
  const of = (key: string) => counts.get(key) ?? 0
  return {
    of,
    add(key: string, change: number): void {
      const count = of(key) + change
      if (count > 0) counts.set(key, count)
      else counts.delete(key)
    },
  }
}
