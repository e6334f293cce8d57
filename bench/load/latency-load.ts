// Measures how long single requests take: sends them one after the other at a fixed rate, on one connection.
import { once } from 'node:events'
import { connect } from 'node:net'
import { onCommand } from './bench-process.mjs'
import type { Load } from './load.ts'

/** In milliseconds. */
export type Latencies = { p50: number; p99: number; count: number }

const intervalMs = 2

onCommand(async ({ port, request, seconds }: Load): Promise<Latencies> => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  const latencies: number[] = []
  const until = performance.now() + seconds * 1000
  // Measured from the intended time, so that a delay also counts for the requests that had to wait for it.
  for (let intended = performance.now(); intended < until; intended += intervalMs) {
    const waitMs = intended - performance.now()
    if (waitMs > 1) await new Promise((resolve) => setTimeout(resolve, waitMs))
    socket.write(request)
    const [response] = (await once(socket, 'data')) as [Buffer]
    if (!response.toString('latin1').startsWith('HTTP/1.1 2')) throw new Error(`unexpected: ${response}`)
    latencies.push(performance.now() - intended)
  }
  socket.destroy()
  latencies.sort((a, b) => a - b)
  const quantile = (share: number) => latencies[Math.floor(share * (latencies.length - 1))] ?? Number.NaN
  return { p50: quantile(0.5), p99: quantile(0.99), count: latencies.length }
})
