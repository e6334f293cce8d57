// Pushes or pulls a large blob, as registry clients do. A push is a POST and one PUT with content.
import { once } from 'node:events'
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { blobOf } from '../stores/registry-content.ts'
import { onCommand } from './bench-process.mjs'

export type BlobTransfer = {
  kind: 'push' | 'pull'
  port: number
  /** The path of the repo, such as `/v2/bench/app`. */
  repo: string
  size: number
  authorization: string
  /** How many transfers run at the same time. */
  inFlight: number
}

/** Bytes of all transfers together. */
export type BlobTransferResult = { bytes: number; seconds: number }

const agent = new Agent({ keepAlive: true })
/** Large, so that this process needs few writes and little CPU time. */
const chunkBytes = 2 ** 20

onCommand(async (transfer: BlobTransfer): Promise<BlobTransferResult> => {
  const run = transfer.kind === 'push' ? push : pull
  const blob = blobOf(transfer.size)
  const started = performance.now()
  await Promise.all(Array.from({ length: transfer.inFlight }, () => run(transfer, blob)))
  return { bytes: transfer.size * transfer.inFlight, seconds: (performance.now() - started) / 1000 }
})

type Blob = ReturnType<typeof blobOf>

async function push(transfer: BlobTransfer, { content, digest }: Blob): Promise<void> {
  const begun = await send(transfer, 'POST', `${transfer.repo}/blobs/uploads/`, 202)
  await text(begun)
  const location = new URL(begun.headers.location ?? '', 'http://localhost')
  location.searchParams.set('digest', digest)
  const path = `${location.pathname}${location.search}`
  await text(await send(transfer, 'PUT', path, 201, content))
}

async function pull(transfer: BlobTransfer, { digest }: Blob): Promise<void> {
  const response = await send(transfer, 'GET', `${transfer.repo}/blobs/${digest}`, 200)
  let received = 0
  response.on('data', (chunk: Buffer) => {
    received += chunk.length
  })
  await once(response, 'end')
  if (received !== transfer.size) throw new Error(`${received} bytes arrived`)
}

async function send(
  { port, authorization }: BlobTransfer,
  method: string,
  path: string,
  status: number,
  body?: Buffer,
): Promise<IncomingMessage> {
  const headers: OutgoingHttpHeaders = {
    ...{ authorization, 'content-length': body?.length ?? 0, 'content-type': 'application/octet-stream' },
  }
  const sent = request({ agent, port, method, path, headers, host: '127.0.0.1' })
  const answered = once(sent, 'response')
  for (let at = 0; body && at < body.length; at += chunkBytes)
    if (!sent.write(body.subarray(at, at + chunkBytes))) await once(sent, 'drain')
  sent.end()
  const [response] = (await answered) as [IncomingMessage]
  if (response.statusCode !== status)
    throw new Error(`${method} ${path} was answered with ${response.statusCode}: ${await text(response)}`)
  return response
}
