import { rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isMissing } from '../blob-error.ts'
import { makeFolder, syncFolder } from './folders.ts'

/** Moves a file that is synced already to its final place, and returns when the move is durable. */
export async function publish(from: string, to: string): Promise<void> {
  const folder = dirname(to)
  await rename(from, to).catch(async (error) => {
    if (!isMissing(error)) throw error
    await makeFolder(folder)
    await rename(from, to)
  })
  await syncFolder(folder)
}
