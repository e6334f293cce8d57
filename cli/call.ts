// A call to the server, and what it says when it refuses, in words.
import { Code } from '@stemma/api/gen/google/rpc/code_pb.ts'
import { exitCodeOf, exitCodes } from './exit-codes.ts'
import { NotSignedIn, Refused } from './usage.ts'

type ErrorBody = { code?: number; message?: string }

/** In seconds. A refresh, which may take two requests, has to end before its lock is held to be stale. */
export const patience = 10

export async function call<T>(url: string, token: string, init: RequestInit = {}): Promise<T> {
  const headers = { ...init.headers, authorization: `Bearer ${token}` }
  const signal = AbortSignal.timeout(patience * 1000)
  const { answer, text } = await ask(url, { ...init, headers, signal, redirect: 'error' })
  if (answer.ok) return (text === '' ? {} : JSON.parse(text)) as T
  const { code = Code.UNKNOWN, message = `HTTP ${answer.status}` } = parse(text)
  throw code === Code.UNAUTHENTICATED ? new NotSignedIn(message) : new Refused(message, exitCodeOf(code))
}

async function ask(url: string, init: RequestInit) {
  try {
    const answer = await fetch(url, init)
    return { answer, text: await answer.text() }
  } catch (error) {
    throw unreachable(url, error as Error)
  }
}

export const unreachable = (url: string, error: Error) =>
  new Refused(`${new URL(url).origin} cannot be reached: ${reasonOf(error)}`, exitCodes.unavailable)

/** A name with several addresses has a cause for each of them, and no words but their code. */
function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code || message : message
}

function parse(text: string): ErrorBody {
  try {
    return JSON.parse(text) as ErrorBody
  } catch {
    return {}
  }
}
