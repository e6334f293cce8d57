import type { Context } from '../context.ts'
import type { Runtime } from '../runtime.ts'
import { singleLine } from '../single-line.ts'
import { currentAccessToken } from './access-token.ts'
import { fetchAuthorized } from './authorized-fetch.ts'

type WhoAmI = {
  subject: string
  email?: string
  expiry: string
  capabilities: { group: { id: string; name: string }; role?: { name: string }; capabilities: string[] }[]
}

/** `stemma auth status`: prints the identity of the caller and their roles. */
export async function printStatus(context: Context, runtime: Runtime): Promise<void> {
  const token = runtime.env.STEMMA_TOKEN || (await currentAccessToken(context, runtime))
  const me = await fetchAuthorized<WhoAmI>(`${context.api}/auth/v1/ok`, token)
  const minutes = Math.round((Date.parse(me.expiry) - runtime.now()) / 60_000)
  const roles = me.capabilities.map(
    ({ group, role, capabilities }) =>
      `  ${role?.name ?? capabilities.join(', ')} in ${group.name} (${group.id})`,
  )
  const lines = [context.api, `${me.email ?? me.subject}, token expires in ${minutes} minutes`, ...roles]
  runtime.stdout.write(`${lines.map(singleLine).join('\n')}\n`)
}
