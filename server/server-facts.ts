// Facts about the running server, for its operators.
import { statfs } from 'node:fs/promises'
import type { Config } from './config/config.ts'
import type { ServerFacts } from './operators/dependencies.ts'
import manifest from './package.json' with { type: 'json' }

export function serverFactsOf({ workers, content, dataDir, databaseUrl }: Config): ServerFacts {
  const usesFolder = !databaseUrl || content.driver === 'files'
  return {
    version: manifest.version,
    startTime: Math.round(Date.now() - process.uptime() * 1000),
    workers,
    contentStorage: content.driver,
    async readFreeBytes() {
      if (!usesFolder) return undefined
      // The folder of a server on PostgreSQL exists only if something was stored in it.
      const space = await statfs(dataDir).catch(() => undefined)
      return space && space.bavail * space.bsize
    },
  }
}
