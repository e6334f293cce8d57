// A stream over HTTP/1.1: one JSON document per line (https://jsonlines.org).
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { malformed } from '../../aip/errors.ts'
import { isTls } from '../headers.ts'
import type { StreamClient } from '../streams.ts'

export const linesType = 'application/jsonl'

export function lineWriter(
  response: ServerResponse,
  { open, end }: Pick<StreamClient, 'open' | 'end'>,
): StreamClient {
  return {
    open,
    end,
    write: (reply, onWritten) => void response.write(`${reply.json().text}\n`, () => onWritten()),
    fail: () => resetConnection(response.socket),
    onDisconnect: (listener) => void response.once('close', listener),
  }
}

/** HTTP/1.0 has no chunks: the end of the connection ends the response, so an aborted stream would look complete. */
export function requireChunks({ httpVersion }: IncomingMessage): void {
  if (httpVersion === '1.0') throw malformed('this path responds with a stream, which requires HTTP/1.1', 505)
}

/** The final chunk is never sent, so the client notices that the stream is incomplete. */
export function resetConnection(socket: Socket | null): void {
  if (isTls(socket)) socket?.destroy()
  else socket?.resetAndDestroy()
}
