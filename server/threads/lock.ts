/** Runs `task` while no other thread is in a task with the same lock. It must be short, because the others block. */
export function withLock<T>(lock: Int32Array<SharedArrayBuffer>, task: () => T): T {
  while (Atomics.compareExchange(lock, 0, 0, 1) !== 0) Atomics.wait(lock, 0, 1)
  try {
    return task()
  } finally {
    Atomics.store(lock, 0, 0)
    Atomics.notify(lock, 0, 1)
  }
}
