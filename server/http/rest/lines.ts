// A stream over HTTP/1.1: JSON documents, one on a line (https://jsonlines.org).
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { malformed } from '../../aip/errors.ts'
import { isTls } from '../headers.ts'
import type { Client } from '../streams.ts'

export const linesType = 'application/jsonl'

export function openLines(response: ServerResponse, { open, end }: Pick<Client, 'open' | 'end'>): Client {
  return {
    open,
    end,
    write: (reply, onWritten) => void response.write(`${reply.json().text}\n`, () => onWritten()),
    fail: () => cutOff(response.socket),
    onGone: (listener) => void response.once('close', listener),
  }
}

/** Before HTTP/1.1 an answer of unknown length ends with its connection, and a part of it would pass for all. */
export function requireChunks({ httpVersion }: IncomingMessage): void {
  if (httpVersion === '1.0') throw malformed('this path answers with a stream, which takes HTTP/1.1', 505)
}

/** The chunk that would be the last never comes, and what is under way need not arrive. */
function cutOff(socket: Socket | null): void {
  if (isTls(socket)) socket?.destroy()
  else socket?.resetAndDestroy()
}
