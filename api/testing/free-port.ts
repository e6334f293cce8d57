import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Finds a port for a server whose port must be known before it listens. It is below the ephemeral ports (from 32768 on
 * Linux, from 49152 in RFC 6335), which systems assign to outgoing connections and to servers that listen on port 0.
 * So another process gets it in the meantime only if it chooses the same random port.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_768)
    const server = createServer().listen(port)
    try {
      await once(server, 'listening')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue
      throw error
    }
    server.close()
    await once(server, 'close')
    return port
  }
}
