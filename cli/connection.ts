import type { Connection, RetryOptions, Warning } from '@stemma/api'
import { connect } from '@stemma/api'
import { Code } from '@stemma/api/gen/google/rpc/code_pb.ts'
import type { Context, ContextFlags } from './context.ts'
import { readContext } from './context.ts'
import { NotSignedIn } from './failure.ts'
import manifest from './package.json' with { type: 'json' }
import type { Runtime } from './runtime.ts'
import { report } from './runtime.ts'
import { readTokens } from './token-store.ts'

export type ConnectionFlags = ContextFlags & {
  debug?: boolean | undefined
  /** Timeout of a call, in milliseconds. If it is set, calls are not retried. */
  timeoutMs?: number | undefined
  /** Uses the stored access token only while it is valid, and does not refresh it. */
  isWithoutRefresh?: boolean | undefined
  /** Sends no access token. */
  isAnonymous?: boolean | undefined
  /** Receives the warnings of responses. */
  onWarning?: ((warning: Warning) => void) | undefined
}

export async function openConnection(flags: ConnectionFlags, runtime: Runtime): Promise<Connection> {
  const context = await readContext(flags, runtime.env)
  const tokenOf = flags.isWithoutRefresh ? storedAccessTokenOf : accessTokenOf
  return connect({
    baseUrl: context.api,
    // A function, because a token may expire during a long list.
    token: flags.isAnonymous ? undefined : () => tokenOf(context, runtime),
    // Shown in the audit log.
    headers: { 'user-agent': `stemma/${manifest.version}` },
    timeoutMs: flags.timeoutMs,
    onWarning: flags.onWarning,
    retry: flags.timeoutMs === undefined ? retryOptions(runtime) : { maxAttempts: 1 },
    ...(flags.debug && { fetch: reportingFetch(runtime) }),
  })
}

/** A shorter wait is not reported. */
const minReportedMs = 900

/** Waits as long as the server asks, up to half a minute, and says so. */
const retryOptions = (runtime: Runtime): Partial<RetryOptions> => ({
  maxDelayMs: 30_000,
  onDelay(delayMs, { code }) {
    if (delayMs < minReportedMs) return
    const reason = code === Code.RESOURCE_EXHAUSTED ? 'too many calls' : 'the server cannot answer yet'
    const clearLine = runtime.stderr.isTTY ? '\r\x1b[K' : '' // there may be a line that shows the progress
    report(runtime, `${clearLine}stemma: ${reason}; trying again in ${Math.round(delayMs / 1000)} s`)
  },
})

const reportingFetch =
  (runtime: Runtime): typeof fetch =>
  async (input, init) => {
    const response = await fetch(input, init)
    report(runtime, `${init?.method} ${input}: ${response.status}`)
    return response
  }

/** The token of STEMMA_TOKEN or of the sign-in. With STEMMA_TOKEN, openid-client need not be loaded. */
export const accessTokenOf = async (context: Context, runtime: Runtime): Promise<string> =>
  runtime.env.STEMMA_TOKEN || (await import('./auth/access-token.ts')).currentAccessToken(context, runtime)

async function storedAccessTokenOf(context: Context, runtime: Runtime): Promise<string> {
  const token = runtime.env.STEMMA_TOKEN || (await readTokens(context, runtime)).access
  if (token === undefined) throw new NotSignedIn('not signed in, or the access token has expired')
  return token
}
