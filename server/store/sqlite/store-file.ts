import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The name of the database in the data folder. */
export const storeFile = 'stemma.db'

export const hasStoreFile = (dataDir: string) => existsSync(join(dataDir, storeFile))
