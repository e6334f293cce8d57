import type { Writable } from 'node:stream'

/** Calls the listener when the response is closed, or now if it already is: a client can disconnect during its call. */
export function onClosed(
  response: Pick<Writable, 'closed' | 'destroyed' | 'once'>,
  listener: () => void,
): void {
  if (response.closed || response.destroyed) listener()
  else response.once('close', listener)
}
