// The young generation of a thread's heap. V8 keeps its memory as long as the thread runs, so
// the threads of the lane and of checks have a smaller one.
import { setFlagsFromString } from 'node:v8'

/** In megabytes, for `resourceLimits`: three times a semi-space. A worker's is as large as that of the main thread. */
export const maxYoungGenerationSizeMb = { worker: 24, lane: 12, checks: 6 }

/**
 * Resets the flags that set sizes for the main thread (bin/node-flags.mjs), because they override the limits of all
 * threads. V8 reads them when it creates a heap, so the main thread keeps its sizes.
 */
export function resetHeapFlags(): void {
  for (const flag of ['max-semi-space-size', 'min-semi-space-size', 'initial-heap-size'])
    setFlagsFromString(`--${flag}=0`)
}
