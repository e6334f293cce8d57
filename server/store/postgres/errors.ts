// The meaning of the errors of PostgreSQL and its driver.
import { StoreError } from '../store-error.ts'

/** Errors that a work throws also pass through here; their codes may be of another type. */
function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

const serializationFailure = '40001'
const deadlock = '40P01'
/** The connection is still in the transaction of a read whose commit has failed, which `postgres.ts` does not await. */
const failedTransaction = '25P02'
const foreignKey = '23503'
const unique = '23505'
const canceled = '57014'

export const isConflict = (error: unknown) =>
  [serializationFailure, deadlock, failedTransaction].includes(codeOf(error))

const systemCodes = [
  ...['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'],
  ...['EHOSTUNREACH', 'ENETUNREACH'],
]
/** SQLSTATE class 08; connections that an administrator or a timeout ended; a server that is starting or stopping. */
const serverCodes = /^(08...|57P0[1235]|25P0[34])$/
const driverMessages =
  /^Connection terminated|^Query read timeout|^Client (has encountered a connection error|was closed)/
const connectionTimeoutMessage = /^timeout exceeded when trying to connect/

/** Whether the connection was lost, so that another connection may succeed. */
export const isConnectionLost = (error: unknown) =>
  systemCodes.includes(codeOf(error)) ||
  serverCodes.test(codeOf(error)) ||
  driverMessages.test((error as Error).message)

export function translateConstraint(error: unknown): unknown {
  if (codeOf(error) === foreignKey) return new StoreError('foreign-key', error)
  if (codeOf(error) === unique) return new StoreError('unique', error)
  return error
}

/** Converts an error to the StoreError that corresponds to it. Other errors are returned unchanged. */
export function translate(error: unknown): unknown {
  if (error instanceof StoreError) return error
  if (codeOf(error) === canceled) return new StoreError('deadline', error)
  return isUnavailable(error) ? new StoreError('unavailable', error) : translateConstraint(error)
}

/** SQLSTATE class 53 means that the server has no more connections, memory or disk space. */
const isUnavailable = (error: unknown) =>
  isConnectionLost(error) ||
  isConflict(error) ||
  codeOf(error).startsWith('53') ||
  connectionTimeoutMessage.test((error as Error).message)
