import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Returns V8's function `gc`, which is taken from a new V8 context. The flag is reset, because V8
 * uses code from the compile cache only if it was compiled with the same flags. If the flag stayed
 * set, threads that start later could not use the cache.
 */
export function exposeGarbageCollector(): () => void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  setFlagsFromString('--no-expose-gc')
  return gc
}
