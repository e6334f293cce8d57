import { threadId } from 'node:worker_threads'

/** 0 if no thread has the lock, otherwise the number of the thread that has it, plus 1. */
type Lock = Int32Array<SharedArrayBuffer>

const own = threadId + 1

/**
 * Runs `task` while no other thread is in a task with the same lock. It must be short, because the others block. A thread
 * that is terminated in its task, or runs out of memory, never releases the lock. So after `timeoutMs`, in milliseconds,
 * the lock is taken from the thread that has it.
 */
export function withLock<T>(lock: Lock, task: () => T, timeoutMs = 1000): T {
  acquire(lock, timeoutMs)
  try {
    return task()
  } finally {
    // Another thread may have taken the lock meanwhile.
    if (Atomics.compareExchange(lock, 0, own, 0) === own) Atomics.notify(lock, 0, 1)
  }
}

function acquire(lock: Lock, timeoutMs: number): void {
  for (;;) {
    const holder = Atomics.compareExchange(lock, 0, 0, own)
    if (holder === 0) return
    const isLate = Atomics.wait(lock, 0, holder, timeoutMs) === 'timed-out'
    if (isLate && Atomics.compareExchange(lock, 0, holder, own) === holder) return
  }
}
