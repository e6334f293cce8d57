// What the errors of PostgreSQL and its driver mean to us.
import { StoreError } from './store-error.ts'

/** Errors that a work throws pass through here as well, and may have codes of another kind. */
function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

const serializationFailure = '40001'
const deadlock = '40P01'
const foreignKey = '23503'
const unique = '23505'
const canceled = '57014'

export const isConflict = (error: unknown) => [serializationFailure, deadlock].includes(codeOf(error))

const lostBySystem = ['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN']
/** Class 08, an administrator's or a timeout's end of the connection, a server that starts or stops. */
const lostByServer = /^(08...|57P0[1235]|25P0[34])$/
const lostByDriver =
  /^Connection terminated|^Query read timeout|^Client (has encountered a connection error|was closed)/
const noConnection = /^timeout exceeded when trying to connect/

/** The connection ended, for whatever reason: another one may do. */
export const isLost = (error: unknown) =>
  lostBySystem.includes(codeOf(error)) ||
  lostByServer.test(codeOf(error)) ||
  lostByDriver.test((error as Error).message)

export function translateConstraint(error: unknown): unknown {
  if (codeOf(error) === foreignKey) return new StoreError('foreign-key', error)
  if (codeOf(error) === unique) return new StoreError('unique', error)
  return error
}

export function translate(error: unknown): unknown {
  if (error instanceof StoreError) return error
  if (codeOf(error) === canceled) return new StoreError('deadline', error)
  return isUnavailable(error) ? new StoreError('unavailable', error) : translateConstraint(error)
}

/** Class 53 is a server out of connections, memory or disk. */
const isUnavailable = (error: unknown) =>
  isLost(error) ||
  isConflict(error) ||
  codeOf(error).startsWith('53') ||
  noConnection.test((error as Error).message)
