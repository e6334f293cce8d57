// Generates load over HTTP/1.1 at little cost: repeats one request on open connections and counts a response as
// complete when as many bytes have arrived as the first response had.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { onCommand } from './bench-process.ts'
import type { Load, LoadResult } from './load.ts'

onCommand(async (load: Load): Promise<LoadResult> => {
  const length = await probe(load)
  const started = performance.now()
  const until = started + load.seconds * 1000
  const answers = await Promise.all(Array.from({ length: load.inFlight }, () => repeat(load, length, until)))
  const seconds = (performance.now() - started) / 1000
  return { answers: answers.reduce((sum, count) => sum + count, 0), seconds }
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
  let seen = ''
  for await (const chunk of socket.setEncoding('latin1')) {
    seen += chunk
    const head = seen.indexOf('\r\n\r\n') + 4
    const length = head + Number(/^content-length: (\d+)\r$/im.exec(seen)?.[1])
    if (head > 3 && seen.length >= length) break
  }
  socket.destroy()
  if (!seen.startsWith('HTTP/1.1 200')) throw new Error(`unexpected response: ${seen}`)
  return seen.length
}

const digitTwo = '2'.charCodeAt(0)
const statusOffset = 'HTTP/1.1 '.length

async function repeat(load: Load, length: number, until: number): Promise<number> {
  const socket = await open(load)
  let answers = 0
  let received = 0
  const done = new Promise<void>((resolve, reject) => {
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server closed a connection')))
    socket.on('data', (chunk) => {
      if (received === 0 && chunk[statusOffset] !== digitTwo)
        reject(new Error(`unexpected response: ${chunk}`))
      received += chunk.length
      if (received < length) return
      if (received > length) reject(new Error(`a response had ${received} bytes instead of ${length}`))
      received = 0
      answers++
      if (performance.now() < until) socket.write(load.request)
      else resolve()
    })
  })
  socket.write(load.request)
  await done
  socket.destroy()
  return answers
}
