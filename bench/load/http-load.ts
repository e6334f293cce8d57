// Generates load over HTTP/1.1 at little cost: repeats one request on open connections and counts a response as
// complete when as many bytes have arrived as the first response had.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { onCommand } from './bench-process.mjs'
import type { Load, LoadResult } from './load.ts'

onCommand(async (load: Load): Promise<LoadResult> => {
  const responseLength = await probe(load)
  const started = performance.now()
  const until = started + load.seconds * 1000
  const counts = await Promise.all(
    Array.from({ length: load.inFlight }, () => repeat(load, responseLength, until)),
  )
  const seconds = (performance.now() - started) / 1000
  return { responseCount: counts.reduce((sum, count) => sum + count, 0), seconds }
})

async function open({ port }: Load): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return socket
}

/** The length of the first response; all other responses must have the same length. */
async function probe(load: Load): Promise<number> {
  const socket = await open(load)
  socket.write(load.request)
  const hasBody = !load.request.startsWith('HEAD ')
  let received = ''
  for await (const chunk of socket.setEncoding('latin1')) {
    received += chunk
    const headLength = received.indexOf('\r\n\r\n') + 4
    const bodyLength = hasBody ? Number(/^content-length: (\d+)\r$/im.exec(received)?.[1]) : 0
    const length = headLength + bodyLength
    if (headLength > 3 && received.length >= length) break
  }
  socket.destroy()
  if (!received.startsWith('HTTP/1.1 200')) throw new Error(`unexpected response: ${received}`)
  return received.length
}

const digitTwo = '2'.charCodeAt(0)
const statusOffset = 'HTTP/1.1 '.length

async function repeat(load: Load, responseLength: number, until: number): Promise<number> {
  const socket = await open(load)
  let responseCount = 0
  let received = 0
  const done = new Promise<void>((resolve, reject) => {
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server closed a connection')))
    socket.on('data', (chunk) => {
      if (received === 0 && chunk[statusOffset] !== digitTwo)
        reject(new Error(`unexpected response: ${chunk}`))
      received += chunk.length
      if (received < responseLength) return
      if (received > responseLength)
        reject(new Error(`a response had ${received} bytes instead of ${responseLength}`))
      received = 0
      responseCount++
      if (performance.now() < until) socket.write(load.request)
      else resolve()
    })
  })
  socket.write(load.request)
  await done
  socket.destroy()
  return responseCount
}
