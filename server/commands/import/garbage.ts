// Between two batches hardly anything is alive. Left to itself, the engine would find that out only after the heap
// has grown by a hundred megabytes.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

export const collectGarbage = runInNewContext('gc') as () => void
