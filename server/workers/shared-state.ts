// Memory that all threads of the process share.

export type SharedState = {
  /** How many transactions the threads have committed to the embedded store; wraps around. */
  commits: Int32Array<SharedArrayBuffer>
  /** Held by the thread that writes to standard output. */
  outputLock: Int32Array<SharedArrayBuffer>
}

export const makeSharedState = (): SharedState => ({
  commits: new Int32Array(new SharedArrayBuffer(4)),
  outputLock: new Int32Array(new SharedArrayBuffer(4)),
})
