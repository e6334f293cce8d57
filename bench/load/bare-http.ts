// The baseline for REST: a plain node:http server that sends a fixed response.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onCommand } from './bench-process.mjs'

export type FixedResponse = { headers: string[]; body: string }

onCommand(async ({ headers, body }: FixedResponse) => {
  const server = createServer({ keepAliveTimeout: 65_000 }, (_, response) => {
    response.writeHead(200, headers)
    response.end(body)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port // address() returns a string only for pipes
})
