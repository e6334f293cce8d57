// Runs a garbage collection after each batch of an import. Almost nothing of a batch is still referenced then, but by
// default V8 lets the heap grow by a hundred megabytes before it collects.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Returns V8's function `gc`. This creates a V8 context, so only the import does it. */
export function exposeGarbageCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}
