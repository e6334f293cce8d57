// The registry of a context: its name is the host of the API.
import type { Context } from '../context.ts'
import { savedContexts } from '../context.ts'
import { UsageError } from '../failure.ts'

/** The name of the registry, with which the names of its images begin. It is also the audience of its tokens. */
export const registryHost = ({ api }: Pick<Context, 'api'>): string => new URL(api).host

/** Docker names a registry by its host or by a URL. The same host with another protocol is another server. */
export function isRegistryOf({ api }: Pick<Context, 'api'>, server: string): boolean {
  const { protocol, host } = new URL(api)
  const url = server.includes('://') ? server : `${protocol}//${server}`
  if (!URL.canParse(url)) return false
  const { protocol: serverProtocol, host: serverHost } = new URL(url)
  return serverProtocol === protocol && serverHost === host
}

/**
 * The context for a registry: `selected` if it is for that registry, or else the saved context that is. Undefined if
 * there is none. Throws if there are several.
 */
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
