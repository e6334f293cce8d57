// Starts one PostgreSQL cluster for a whole test run and passes its URL to the tests in STEMMA_TEST_POSTGRES. If the
// variable is already set, that server is used instead. Makes the stores that tests copy (templates.ts).
import { type Cluster, startCluster } from './postgres.ts'
import { makeTemplates } from './templates.ts'

/** In CI on these platforms, for which npm has PostgreSQL, the run fails if PostgreSQL does not start. */
const requiresPostgres =
  Boolean(process.env.CI) && /^linux-(x64|arm64)$/.test(`${process.platform}-${process.arch}`)
let cluster: Cluster | undefined

let removeTemplates = async () => {}

export async function globalSetup(): Promise<void> {
  if (!process.env.STEMMA_TEST_POSTGRES) await startPostgres()
  removeTemplates = await makeTemplates(process.env.STEMMA_TEST_POSTGRES)
}

async function startPostgres(): Promise<void> {
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
  await removeTemplates()
  await cluster?.stop()
}
