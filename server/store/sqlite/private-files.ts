// The files of the embedded store contain everything that the API protects, so only their owner may read them.
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  statSync,
} from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * Other users may read the folder or a file in it, and its mode cannot be changed. The error has a code, so commands
 * print no stack trace.
 */
export class PublicFolderError extends Error {
  readonly code = 'PUBLIC_FOLDER'
}

const modeOfOthers = 0o077
const hasModes = process.platform !== 'win32'

/**
 * Creates a folder that only its owner may read. If the folder or one of these files exists and other users may read
 * it, its mode is corrected, and a message for the operator is returned. Throws if the mode cannot be changed.
 */
export function makePrivate(folder: string, files: readonly string[]): string[] {
  // Absolute, because with a relative path this call never returns if the working directory was deleted.
  mkdirSync(resolve(folder), { recursive: true, mode: 0o700 })
  if (!hasModes) return []
  const present = files.map((name) => join(folder, name)).filter((file) => existsSync(file))
  return [restrict(folder, 0o700), ...present.map((file) => restrict(file, 0o600))].flat()
}

function restrict(path: string, mode: number): string[] {
  const before = statSync(path).mode & 0o777
  if ((before & modeOfOthers) === 0) return []
  const octal = before.toString(8)
  try {
    chmodSync(path, mode)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
    throw new PublicFolderError(
      `${path} is open to other users of this machine (mode ${octal}) and belongs to another user; set STEMMA_DATA_DIR to a new folder of your own`,
    )
  }
  return [
    `${path} was open to other users of this machine (mode ${octal}); its mode is now ${mode.toString(8)}`,
  ]
}

/**
 * Creates the database file if it does not exist. SQLite gives its other files, such as the write-ahead log, the same
 * mode. An existing file is not opened: the process may have it open already, and `close` would release the locks of
 * SQLite on it (POSIX, fcntl). Then another program could delete the write-ahead log while it is used.
 */
export function createPrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    accessSync(file, constants.R_OK | constants.W_OK)
  }
}
