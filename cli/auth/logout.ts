// `stemma auth logout`: forget the tokens, and have the server forget the sign-in.
import type { Context } from '../context.ts'
import { oneLine } from '../one-line.ts'
import { holdTokens, readTokens, removeExchanged, removeTokens } from '../token-store.ts'
import { revoke } from './tokens.ts'

export async function logout(context: Context, env: NodeJS.ProcessEnv): Promise<void> {
  for (const audience of new Set([context.audience, context.api]))
    await holdTokens(audience, env, async () => {
      const { refresh } = await readTokens(audience, env)
      // First of all from this machine, whatever the server says, and however long it takes.
      await removeTokens(audience, env)
      await removeExchanged(audience, env)
      if (refresh !== undefined) await revoke(context.issuer, refresh).catch(tell)
    })
  process.stderr.write(`Signed out of ${context.api}.\n`)
}

function tell({ message }: Error): void {
  process.stderr.write(
    `The tokens are removed here, but the server does not know of it: ${oneLine(message)}\n`,
  )
}
