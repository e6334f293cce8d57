import { availableParallelism } from 'node:os'

/**
 * The size of each semi-space of the young generation, in megabytes. With 4 MB, calls over gRPC take a fifth more time
 * than with 8 MB. With Node's default of 16 MB, a server takes 80 MB more memory than with 8 MB. An import needs only
 * 4 MB, and its memory use must stay low.
 */
const semiSpaceMegabytes = (command) => (command === 'import' ? 4 : 8)

/**
 * How much the old generation may grow until it is collected, in percent of its live objects. By default it may become
 * four times as large: a heap with 70 MB of live objects took 280 MB in a soak. The heap also grows during a
 * collection, which takes long, because its threads have a low priority (`server/threads/priority.ts`). In the first
 * two minutes of a soak, the process took 403 MB with 50 percent, and 392 MB with 30.
 */
const heapGrowingPercent = 30

/**
 * In megabytes: until the heap has this size, only the young generation is collected, and the young generation has its
 * full size from the start. By default both begin small, and a tenth of the start-up time was spent
 * on collections. The memory of an idle server becomes 2 MB larger.
 */
const initialHeapMegabytes = 64

/**
 * At its start, the server decodes the descriptors of the contract, which stay in memory. V8 concludes that lists in
 * messages live long, and puts the lists of requests into the old generation too, where they keep the whole request in
 * memory until a full collection. Without this flag, each collection during a BatchCheckAccess of 1000 questions copied
 * a quarter of the allocated bytes.
 */
const noPretenuring = '--no-allocation-site-pretenuring'

/** `npm start` has the flags of `serve` in package.json, which saves a second start of Node. */
export const nodeFlagsOf = (command) => [
  `--max-semi-space-size=${semiSpaceMegabytes(command)}`,
  // An import collects the garbage itself.
  ...(command === 'import'
    ? []
    : [
        `--min-semi-space-size=${semiSpaceMegabytes(command)}`,
        `--initial-heap-size=${initialHeapMegabytes}`,
        `--heap-growing-percent=${heapGrowingPercent}`,
        noPretenuring,
      ]),
]

/**
 * The allocator of glibc gives threads arenas of their own, up to eight for each core, and an arena keeps memory that was
 * freed in it: in a soak on two cores, 20 MB more than with two arenas. Other C libraries ignore the variable. `npm start`
 * with Node 24 does not set it, because that would need a second start of Node.
 */
export const allocatorEnvironment = { MALLOC_ARENA_MAX: String(Math.max(2, availableParallelism())) }
