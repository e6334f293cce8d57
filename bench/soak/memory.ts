// The resident memory of a process, as Linux reports it. Asking the process itself would wait for its event loop.
import { readFile } from 'node:fs/promises'

/** In bytes. `peak` is the maximum since the process started, so no peak between two readings is missed. */
export type Memory = { current: number; peak: number }

export async function memoryOf(pid: number): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return { current: bytesOf(status, 'VmRSS'), peak: bytesOf(status, 'VmHWM') }
}

function bytesOf(status: string, field: string): number {
  const [, kilobytes] = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status) ?? []
  if (kilobytes === undefined) throw new Error(`/proc has no ${field} of the server`)
  return Number(kilobytes) * 1024
}
