import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { BackupError } from '../store/backup-line.ts'

/** The lines of a compressed backup. */
export async function* decompressedLines(source: Readable): AsyncGenerator<string> {
  // The iterator of readline throws the errors of `input`, which include those of `source`.
  const input = pipeline(source, createGunzip(), () => {})
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  try {
    yield* lines
  } catch (error) {
    const isGzipError = (error as NodeJS.ErrnoException).code?.startsWith('Z_')
    throw isGzipError ? new BackupError('this is not a backup of Stemma, or it is damaged') : error
  } finally {
    // Stops reading if the caller does not read all lines.
    input.destroy()
  }
}
