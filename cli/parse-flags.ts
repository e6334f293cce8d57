import type { ParseArgsOptionsConfig } from 'node:util'
import { parseArgs } from 'node:util'
import { UsageError } from './failure.ts'

const text = { type: 'string' } as const

/** Flags that select the server. Every command that calls a server has them. */
export const contextOptions = { api: text, issuer: text, audience: text, context: text }

export function parseFlags<T extends ParseArgsOptionsConfig>(args: string[], options: T) {
  try {
    return parseArgs({ args, options }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
