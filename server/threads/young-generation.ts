// The young generation of a thread's heap. V8 keeps its memory as long as the thread runs, so threads that serve no calls
// have a small one.
import { setFlagsFromString } from 'node:v8'

/** In megabytes, for `resourceLimits`: three semi-spaces. A worker has semi-spaces as large as those of the main thread. */
export const maxYoungGenerationSizeMb = { worker: 24, lane: 12, checks: 6 }

/**
 * Resets the flag that sets the size for the main thread (bin/node-flags.mjs), because it overrides the limits of all
 * threads. V8 reads the flag when it creates a heap, so the main thread keeps its size.
 */
export const resetSemiSpaceFlag = () => setFlagsFromString('--max-semi-space-size=0')
