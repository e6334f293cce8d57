// What may be there already, as it is where the store is embedded: to wait for it nevertheless would cost every
// call some turns of the loop.

export type Soon<T> = T | Promise<T>

/** Goes on as soon as it is there. */
export function then<T, U>(soon: Soon<T>, next: (value: T) => Soon<U>): Soon<U> {
  return soon instanceof Promise ? soon.then(next) : next(soon)
}

/** Goes on elsewhere if it fails, at once or later. */
export function attempt<T>(run: () => Soon<T>, onFailure: (error: unknown) => Soon<T>): Soon<T> {
  try {
    const soon = run()
    return soon instanceof Promise ? soon.catch(onFailure) : soon
  } catch (error) {
    return onFailure(error)
  }
}
