import type { Connection } from '@stemma/api'
import { connect } from '@stemma/api'
import type { Context, ContextFlags } from './context.ts'
import { readContext } from './context.ts'
import type { Runtime } from './runtime.ts'
import { report } from './runtime.ts'

export type ConnectionFlags = ContextFlags & {
  debug?: boolean | undefined
  /** Timeout of a call, in milliseconds. If it is set, calls are not retried. */
  timeoutMs?: number | undefined
  /** Sends no access token. */
  isAnonymous?: boolean | undefined
}

export async function openConnection(flags: ConnectionFlags, runtime: Runtime): Promise<Connection> {
  const context = await readContext(flags, runtime.env)
  return connect({
    baseUrl: context.api,
    // A function, because a token may expire during a long list.
    token: flags.isAnonymous ? undefined : () => runtime.env.STEMMA_TOKEN || storedToken(context, runtime),
    timeoutMs: flags.timeoutMs,
    ...(flags.timeoutMs !== undefined && { retry: { maxAttempts: 1 } }),
    ...(flags.debug && { fetch: reportingFetch(runtime) }),
  })
}

const reportingFetch =
  (runtime: Runtime): typeof fetch =>
  async (input, init) => {
    const response = await fetch(input, init)
    report(runtime, `${init?.method} ${input}: ${response.status}`)
    return response
  }

/** Imported when needed: with STEMMA_TOKEN, openid-client need not be loaded. */
const storedToken = async (context: Context, runtime: Runtime): Promise<string> =>
  (await import('./auth/access-token.ts')).currentAccessToken(context, runtime)
