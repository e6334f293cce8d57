// Runs a garbage collection after each batch of an import. Almost nothing of a batch is still referenced then, but left
// to itself V8 lets the heap grow by a hundred megabytes before it notices.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Makes V8's collector callable. Only the import does this, because it needs a new context. */
export function exposeGarbageCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}
