// Limits how many bodies of uploads arrive, and how many blobs are sent, at a time. Each takes memory. If blobs are
// stored in S3, an upload also takes disk space in the spool folder, and a pull also takes a connection to S3.
import { tooManyRequests } from '../aip/errors.ts'
import { rootOf } from '../aip/uid.ts'
import { networkOf } from '../wire/client-network.ts'

export type RunningTransfers = {
  /**
   * Throws if too many are running. `client` is the identity of the caller, or the address of the client for pulls, which
   * can be anonymous. `repo` is a uid. Returns a function to call when the transfer has ended.
   */
  start(client: string, repo: string): () => void
}

/** 0 means no limit. */
type Limits = { client: number; total: number }

type Messages = { client(max: number): string; organization(max: number): string; total: string }

const retrySeconds = 5

/**
 * The part of all transfers that may belong to repos of one organization. Without this limit, an organization with many
 * identities could keep all others from uploading, and many networks that pull from one organization could keep all
 * others from pulling.
 */
const organizationPart = 1 / 4

export const openRunningUploads = (max: { caller: number; total: number }): RunningTransfers =>
  openRunning(
    { client: max.caller, total: max.total },
    {
      client: (max) => `at most ${max} of your uploads may arrive at a time; wait until one of them ends`,
      organization: (max) =>
        `at most ${max} uploads to the organization may arrive at a time; wait until one of them ends`,
      total: 'too many uploads are arriving; try again later',
    },
  )

export function openRunningPulls(max: { network: number; total: number }): RunningTransfers {
  const { start } = openRunning(
    { client: max.network, total: max.total },
    {
      client: (max) =>
        `at most ${max} blobs may be sent to your network at a time; wait until one is complete`,
      organization: (max) =>
        `at most ${max} blobs of the organization may be sent at a time; wait until one is complete`,
      total: 'too many blobs are being sent; try again later',
    },
  )
  return { start: (address, repo) => start(networkOf(address), repo) }
}

function openRunning({ client: perClient, total }: Limits, messages: Messages): RunningTransfers {
  // At least as many as one client may have.
  const perOrganization = total === 0 ? 0 : Math.max(perClient, Math.ceil(total * organizationPart))
  const byClient = openCounts()
  const byOrganization = openCounts()
  let sum = 0
  return {
    start(client, repo) {
      const organization = rootOf(repo)
      if (perClient > 0 && byClient.of(client) >= perClient)
        throw tooManyRequests(messages.client(perClient), retrySeconds)
      if (perOrganization > 0 && byOrganization.of(organization) >= perOrganization)
        throw tooManyRequests(messages.organization(perOrganization), retrySeconds)
      if (total > 0 && sum >= total) throw tooManyRequests(messages.total, retrySeconds)
      byClient.add(client, 1)
      byOrganization.add(organization, 1)
      sum++
      return () => {
        byClient.add(client, -1)
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
