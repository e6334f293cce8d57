import type { Context } from '../context.ts'
import type { Runtime } from '../runtime.ts'
import { report } from '../runtime.ts'
import { singleLine } from '../single-line.ts'
import { readTokens, removeExchangedTokens, removeTokens, withTokenLock } from '../token-store.ts'
import { revokeToken } from './access-token.ts'

/** `stemma auth logout`: removes the tokens from this machine and ends the sign-in on the server. */
export async function logout(context: Context, runtime: Runtime): Promise<void> {
  for (const audience of new Set([context.audience, context.api])) {
    const place = { name: context.name, audience }
    await withTokenLock(place, runtime, async () => {
      const { refresh } = await readTokens(place, runtime)
      // The tokens are removed before the call to the server, because that call may fail or take long.
      await removeTokens(place, runtime.env)
      await removeExchangedTokens(place, runtime.env)
      if (refresh !== undefined)
        await revokeToken(context.issuer, refresh).catch((error: Error) => reportNotRevoked(runtime, error))
    })
  }
  report(runtime, `Signed out of ${context.api}.`)
}

const reportNotRevoked = (runtime: Runtime, { message }: Error): void =>
  report(
    runtime,
    `The tokens are removed from this machine, but the sign-in could not be ended on the server: ${singleLine(message)}`,
  )
