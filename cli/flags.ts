import type { ParseArgsOptionsConfig } from 'node:util'
import { parseArgs } from 'node:util'
import { UsageError } from './usage.ts'

const text = { type: 'string' } as const

/** Which server is meant, for every command. */
export const contextOptions = { api: text, issuer: text, audience: text, context: text }

export function flagsOf<T extends ParseArgsOptionsConfig>(args: string[], options: T) {
  try {
    return parseArgs({ args, options }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
