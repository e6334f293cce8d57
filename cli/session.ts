// Calls of a resource's commands: which server, as whom, and what is told of them with --debug.
import type { Connection } from '@stemma/api'
import { connect } from '@stemma/api'
import type { Context, ContextFlags } from './context.ts'
import { readContext } from './context.ts'

export type SessionOptions = ContextFlags & {
  debug?: boolean | undefined
  /** In milliseconds: how long a call may take. */
  timeout?: number | undefined
  /** Asks nobody who they are. */
  isOpen?: boolean | undefined
}

export async function openSession(options: SessionOptions, env: NodeJS.ProcessEnv): Promise<Connection> {
  const context = await readContext(options, env)
  return connect({
    baseUrl: context.api,
    // Asked for each call, so that a list that takes longer than a token lives comes to its end.
    token: options.isOpen ? undefined : () => env.STEMMA_TOKEN || signedIn(context, env),
    timeoutMs: options.timeout,
    ...(options.timeout !== undefined && { retry: { maxAttempts: 1 } }),
    ...(options.debug && { fetch: telling }),
  })
}

const telling: typeof fetch = async (input, init) => {
  const answer = await fetch(input, init)
  process.stderr.write(`${init?.method} ${input}: ${answer.status}\n`)
  return answer
}

/** What signs people in is not loaded for those who bring a token. */
const signedIn = async (context: Context, env: NodeJS.ProcessEnv): Promise<string> =>
  (await import('./auth/tokens.ts')).liveToken(context, env)
