// A call to the server, and what it says when it refuses, in words.
import { NotSignedIn, Refused } from './usage.ts'

type ErrorBody = { code?: number; message?: string }

const unauthenticated = 16

export async function call<T>(url: string, token: string, init: RequestInit = {}): Promise<T> {
  const headers = { ...init.headers, authorization: `Bearer ${token}` }
  const answer = await fetch(url, { ...init, headers, redirect: 'error' }).catch((error: Error) => {
    throw new Refused(`${new URL(url).origin} cannot be reached: ${reasonOf(error)}`)
  })
  const text = await answer.text()
  if (answer.ok) return (text === '' ? {} : JSON.parse(text)) as T
  const { code, message = `HTTP ${answer.status}` } = parse(text)
  throw code === unauthenticated ? new NotSignedIn(message) : new Refused(message)
}

const reasonOf = ({ message, cause }: Error) => (cause instanceof Error ? cause.message : message)

function parse(text: string): ErrorBody {
  try {
    return JSON.parse(text) as ErrorBody
  } catch {
    return {}
  }
}
