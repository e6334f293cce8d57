// Waiting, for no longer than wanted.

/** Fails with the signal's reason if that comes first. */
export function unless<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}

export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  await unless(signal, over).finally(() => clearTimeout(timer))
}

export type Limit = {
  signal: AbortSignal
  /** Starts the time anew. */
  extend(): void
  /** Lets no time pass until it is started anew. */
  pause(): void
  clear(): void
}

/** Timers know no more; who asks for longer waits for ever. */
const longest = 2 ** 31 - 1

/** A signal that follows another, and is given itself when the time is over. */
export function limit(milliseconds: number, reason: () => unknown, outer?: AbortSignal): Limit {
  const controller = new AbortController()
  const follow = () => controller.abort(outer?.reason)
  let timer: ReturnType<typeof setTimeout> | undefined
  const pause = () => clearTimeout(timer)
  const extend = () => {
    pause()
    if (milliseconds <= longest) timer = setTimeout(() => controller.abort(reason()), milliseconds)
  }
  if (outer?.aborted) follow()
  else outer?.addEventListener('abort', follow, { once: true })
  extend()
  const clear = () => {
    pause()
    outer?.removeEventListener('abort', follow)
  }
  return { signal: controller.signal, extend, pause, clear }
}
