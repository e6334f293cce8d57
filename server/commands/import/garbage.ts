// Between two batches hardly anything is alive. Left to itself, the engine would find that out only after the heap
// has grown by a hundred megabytes.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | undefined

/** Whoever imports nothing does not pay for the way there. */
export function collectGarbage(): void {
  collect ??= findCollector()
  collect()
}

function findCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}
