import type { Context } from '../context.ts'
import { readContext, savedContexts } from '../context.ts'
import { NotSignedIn } from '../failure.ts'
import { contextOfRegistry, isRegistryOf, registryHost } from '../registry/registry-host.ts'
import { registryToken, tokenUser } from '../registry/registry-token.ts'
import type { Runtime } from '../runtime.ts'
import { expiryOf, readTokens } from '../token-store.ts'
import type { Login } from './stored-logins.ts'
import { readLogins } from './stored-logins.ts'

/** The field names are those of Docker's protocol for credential helpers. */
export type Credentials = { ServerURL: string; Username: string; Secret: string }

/**
 * The credentials for a server: those of a `docker login`, such as a pull token, or else a token of
 * the sign-in. A stored access token is used only if there is no sign-in: `docker login` also
 * stores the access token that it got from this helper, which soon expires.
 */
export async function findCredentials(server: string, runtime: Runtime): Promise<Credentials> {
  const stored = (await readLogins(runtime.env)).get(server)
  if (stored && stored.username !== tokenUser) return toCredentials(server, stored)
  try {
    return toCredentials(server, { username: tokenUser, secret: await tokenFor(server, runtime) })
  } catch (error) {
    if (!(error instanceof NotSignedIn) || !stored || expiryOf(stored.secret) <= runtime.now()) throw error
    return toCredentials(server, stored)
  }
}

/** STEMMA_TOKEN is for the server of the selected context, and no other server gets it. */
async function tokenFor(server: string, runtime: Runtime): Promise<string> {
  const { env } = runtime
  const selected = await readContext({}, env)
  if (env.STEMMA_TOKEN && isRegistryOf(selected, server)) return env.STEMMA_TOKEN
  const context = await contextOfRegistry(server, selected, env)
  if (!context) throw new NotSignedIn(`not signed in to ${server}; run: stemma auth login --api URL`)
  return registryToken(context, runtime)
}

const toCredentials = (server: string, { username, secret }: Login): Credentials => ({
  ...{ ServerURL: server, Username: username, Secret: secret },
})

/** The user name for each server that has credentials. */
export async function listUsers(runtime: Runtime): Promise<Record<string, string>> {
  const users: [string, string][] = []
  for (const context of await savedContexts(runtime.env))
    if (await hasSignIn(context, runtime)) users.push([registryHost(context), tokenUser])
  for (const [server, { username }] of await readLogins(runtime.env)) users.push([server, username])
  return Object.fromEntries(users)
}

async function hasSignIn(context: Context, runtime: Runtime): Promise<boolean> {
  const { access, refresh } = await readTokens(context, runtime)
  return access !== undefined || refresh !== undefined
}
