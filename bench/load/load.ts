// Loads a server for some seconds and measures its CPU time.
import type { Process, Server } from './processes.ts'
import { usageOf } from './processes.ts'

export type Load = { port: number; request: string; inFlight: number; seconds: number }
/** `request` is in base64. */
export type GrpcLoad = Load & { path: string; authorization: string }

export type LoadResult = { responseCount: number; seconds: number }

export type Sample = {
  /** Responses per second. */
  rate: number
  /** Responses per second of the server's CPU time, which varies less than elapsed time on a shared machine. */
  perCpu: number
}

export async function measure(loader: Process, server: Server, task: Omit<Load, 'port'>): Promise<Sample> {
  const before = await usageOf(server)
  const { responseCount, seconds } = await loader.ask<LoadResult>({ ...task, port: server.port })
  const after = await usageOf(server)
  return { rate: responseCount / seconds, perCpu: responseCount / (after.cpu - before.cpu) }
}
