import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Returns V8's function `gc`. This creates a V8 context. The flag is reset, because V8 accepts compiled code only from
 * processes with the same flags: threads that start later would not find theirs in the compile cache.
 */
export function exposeGarbageCollector(): () => void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  setFlagsFromString('--no-expose-gc')
  return gc
}
