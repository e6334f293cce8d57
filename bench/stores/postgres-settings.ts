import { createDatabase } from '../../server/testing/postgres.ts'

/** Creates a database in the cluster, and returns the flags of stemmad that use it. */
export async function postgresSettings(clusterUrl: string): Promise<string[]> {
  const { url } = await createDatabase(clusterUrl)
  return ['--database-url', url, '--secret-key', 'only for benchmarks on this machine']
}
