// The baseline for blobs: a plain node:http server that hashes an upload, writes it to a file, and
// sends the file to each download.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { onCommand } from './bench-process.mjs'

onCommand(async ({ file }: { file: string }) => {
  const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    if (request.method === 'POST') response.writeHead(202, { location: '/upload' }).end()
    else if (request.method === 'PUT') receive(file, request, response)
    else sendFile(file, response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port // address() returns a string only for pipes
})

async function receive(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const file = await open(path, 'w')
  const hash = createHash('sha256')
  for await (const chunk of request as AsyncIterable<Buffer>) {
    hash.update(chunk)
    await file.write(chunk)
  }
  await file.sync()
  await file.close()
  response.writeHead(201, { 'docker-content-digest': `sha256:${hash.digest('hex')}` }).end()
}

async function sendFile(path: string, response: ServerResponse): Promise<void> {
  const file = await open(path)
  const { size } = await file.stat()
  response.writeHead(200, { 'content-length': size })
  await pipeline(file.createReadStream(), response)
}
