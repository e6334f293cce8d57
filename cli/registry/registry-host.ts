// The registry of a context: its name is the host of the API.
import type { Context } from '../context.ts'
import { savedContexts } from '../context.ts'
import { UsageError } from '../failure.ts'

/** The name of the registry, as images have it in front of theirs. It is also the audience of tokens for the registry. */
export const registryHost = ({ api }: Pick<Context, 'api'>): string => new URL(api).host

/** Docker names a registry by its host or by a URL. The same host with another protocol is another server. */
export function isRegistryOf({ api }: Pick<Context, 'api'>, server: string): boolean {
  const { protocol, host } = new URL(api)
  const url = server.includes('://') ? server : `${protocol}//${server}`
  if (!URL.canParse(url)) return false
  const { protocol: serverProtocol, host: serverHost } = new URL(url)
  return serverProtocol === protocol && serverHost === host
}

/** The context of a registry: `selected` if the registry is its server, or else the only saved one of that server. */
export async function contextOfRegistry(
  server: string,
  selected: Context,
  env: NodeJS.ProcessEnv,
): Promise<Context | undefined> {
  if (isRegistryOf(selected, server)) return selected
  const [context, ...others] = (await savedContexts(env)).filter((saved) => isRegistryOf(saved, server))
  if (others.length === 0) return context
  const names = [context, ...others].map((each) => each?.name).join(', ')
  throw new UsageError(`several contexts are for ${server} (${names}); name one of them in STEMMA_CONTEXT`)
}
