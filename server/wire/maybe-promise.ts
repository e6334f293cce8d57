// A value or a promise of it: the embedded store answers synchronously, and awaiting a value that is not a promise would
// delay every call by several microtasks.

export type MaybePromise<T> = T | Promise<T>

/** Calls `next` with the value: immediately, or when the promise resolves. */
export function andThen<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Calls `onError` if `run` throws or its promise rejects. */
export function recover<T>(
  run: () => MaybePromise<T>,
  onError: (error: unknown) => MaybePromise<T>,
): MaybePromise<T> {
  try {
    const value = run()
    return value instanceof Promise ? value.catch(onError) : value
  } catch (error) {
    return onError(error)
  }
}
