// Requests whose body may take longer than others to arrive, such as uploads of images. Their connection is still
// closed when nothing arrives for a while (timeouts.ts, `idle`).
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

/** The request with a long body on each connection. Entries disappear with their connections. */
const longBodies = new WeakMap<Duplex, IncomingMessage>()

export function allowLongBody(request: IncomingMessage): void {
  longBodies.set(request.socket, request)
}

export const hasLongBody = (socket: Duplex): boolean => longBodies.get(socket)?.complete === false
