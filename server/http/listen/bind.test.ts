import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import type { Server } from 'node:net'
import { createServer } from 'node:net'
import { afterEach, describe, test } from 'node:test'
import { bindAll, portOf } from './bind.ts'

const skipReason =
  process.platform !== 'linux' && 'several sockets of one thread can share a port only on Linux'

describe('a bound port', () => {
  const bound: Server[] = []
  afterEach(() => {
    for (const server of bound.splice(0)) server.close()
  })

  async function bind(port: number, acceptsPerTurn: number, onConnection = () => {}): Promise<number> {
    const closingServer = () =>
      createServer((socket) => {
        socket.destroy()
        onConnection()
      })
    const servers = await bindAll(closingServer, ['127.0.0.1'], { port, sharesPort: false, acceptsPerTurn })
    bound.push(...servers)
    return portOf(servers[0]) ?? 0
  }

  /** Opens connections in another process, while the event loop of this one stands still. */
  function connectMany(port: number, count: number): void {
    const program = `
    let connected = 0
    for (let at = 0; at < ${count}; at++)
      require('node:net').connect(${port}, '127.0.0.1', () => ++connected === ${count} && process.exit())`
    const { status } = spawnSync(process.execPath, ['-e', program])
    assert.equal(status, 0)
  }

  test('several waiting connections are accepted in one turn of the event loop', {
    skip: skipReason,
  }, async () => {
    let accepted = 0
    const port = await bind(0, 8, () => accepted++)
    connectMany(port, 64)
    let most = 0
    for (let before = 0; accepted < 64; before = accepted) {
      await new Promise((resolve) => setImmediate(resolve))
      most = Math.max(most, accepted - before)
    }
    assert.ok(most > 1 && most <= 8, `${most} connections`)
  })

  test('a port on which another server listens is refused', async () => {
    const port = await bind(0, 8)
    for (const acceptsPerTurn of [1, 8])
      await assert.rejects(bind(port, acceptsPerTurn), { code: 'EADDRINUSE' })
  })
})
