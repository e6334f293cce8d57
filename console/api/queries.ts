import { StemmaError } from '@stemma/api/json'
import { QueryClient } from '@tanstack/preact-query'

/** How long data counts as fresh, in milliseconds. Older data is shown at once and loaded again. */
const staleMs = 10_000

/** The cache of everything that was read. The client of the API retries by itself, so nothing is retried here. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: staleMs,
      gcTime: 5 * 60_000,
      retry: false,
      // Data that is shown stays on the page if it cannot be loaded again.
      throwOnError: (error, { state }) => state.data === undefined && !(error instanceof StemmaError),
    },
  },
})

/** Marks data as outdated and reloads what is shown of it, here and in the other tabs. */
export function invalidate(kinds: readonly string[]): Promise<unknown> {
  otherTabs.postMessage(kinds)
  return reload(kinds)
}

/** Loads data again in this tab only. */
export const reload = (kinds: readonly string[]) =>
  Promise.all(kinds.map((kind) => queries.invalidateQueries({ queryKey: [kind] })))

const otherTabs = new BroadcastChannel('stemma-console-changes')
otherTabs.onmessage = ({ data }: MessageEvent<string[]>) => void reload(data)
