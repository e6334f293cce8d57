import { StatusError, textOf } from '../aip/errors.ts'
import { UsageError } from './command.ts'

/** Rethrows a `StatusError` as a `UsageError`, because the caller in a command is the operator. */
export function throwUsageError(error: unknown): never {
  throw error instanceof StatusError ? new UsageError(textOf(error)) : error
}
