// The folder in which tests create temporary stores. In memory, a commit does not wait for the disk: on a disk, the
// access matrix on SQLite spends a fifth of its time in commits.
import { accessSync, constants, statfsSync } from 'node:fs'
import { freemem } from 'node:os'

const sharedMemory = '/dev/shm'
/** The stores of all tests that run at the same time need less than 1 GB. The tests themselves need memory as well. */
const neededBytes = 4 * 1024 ** 3

/** Returns a folder in memory if the machine has one with enough room, otherwise `onDisk`. */
export function memoryFolderOr(onDisk: string): string {
  try {
    accessSync(sharedMemory, constants.W_OK)
    const { bavail, bsize } = statfsSync(sharedMemory)
    return Math.min(bavail * bsize, freemem()) > neededBytes ? sharedMemory : onDisk
  } catch {
    return onDisk
  }
}
