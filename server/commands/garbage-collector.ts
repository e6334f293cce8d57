import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Returns V8's function `gc`. This creates a V8 context. */
export function exposeGarbageCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}
