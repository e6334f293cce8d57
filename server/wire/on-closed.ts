import type { Writable } from 'node:stream'

/** Calls the listener when the response is closed, or at once if it is: a client can disconnect while its call runs. */
export function onClosed(
  response: Pick<Writable, 'closed' | 'destroyed' | 'once'>,
  listener: () => void,
): void {
  if (response.closed || response.destroyed) listener()
  else response.once('close', listener)
}
