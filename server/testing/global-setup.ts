// Starts one PostgreSQL cluster for a whole test run and passes its URL to the tests in STEMMA_TEST_POSTGRES. If the
// variable is already set, that server is used instead.
import { type Cluster, startCluster } from './postgres.ts'

/** In CI on these platforms, for which npm has PostgreSQL, the run fails if PostgreSQL does not start. */
const requiresPostgres =
  Boolean(process.env.CI) && /^linux-(x64|arm64)$/.test(`${process.platform}-${process.arch}`)
let cluster: Cluster | undefined

export async function globalSetup(): Promise<void> {
  if (process.env.STEMMA_TEST_POSTGRES) return
  try {
    cluster = await startCluster()
    process.env.STEMMA_TEST_POSTGRES = cluster.url
  } catch (error) {
    const reason = String(error instanceof Error ? error.message : error)
      .trim()
      .replace(/\s+/g, ' ')
    const line = `PostgreSQL tests do not run: ${reason}`
    if (requiresPostgres) throw new Error(line)
    console.error(line)
  }
}

export async function globalTeardown(): Promise<void> {
  await cluster?.stop()
}
