// The bound of REST: node:http and nothing else, sending what it was told to.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onOrder } from './meter.ts'

export type Canned = { headers: string[]; body: string }

onOrder(async ({ headers, body }: Canned) => {
  const server = createServer({ keepAliveTimeout: 65_000 }, (_, response) => {
    response.writeHead(200, headers)
    response.end(body)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port // a string only for pipes
})
