// Where the files of this package are. A module cannot find them relative to itself, because in a bundle all modules are
// in one folder (build/bundle-server.ts).
import { basename, join } from 'node:path'

/** The modules that run as threads, without extension. Each is an entry point of the bundle. */
export const threadPrograms = [
  'checks-thread',
  'commands/import/convert-thread',
  'lane-thread',
  'store/sqlite/checkpoint-thread',
  'worker-thread',
] as const

/** Defined in bundles: the path from the folder of the bundle to the folder of this package. */
declare const pathToServer: string | undefined

const isBundle = typeof pathToServer !== 'undefined'
const folder = join(import.meta.dirname, isBundle ? pathToServer : '.')

/** `path` is relative to the folder of this package. */
export const packageFile = (path: string): string => join(folder, path)

export const threadProgram = (path: (typeof threadPrograms)[number]): string =>
  isBundle ? join(import.meta.dirname, `${basename(path)}.mjs`) : packageFile(`${path}.ts`)
