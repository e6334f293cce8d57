import { currentAccessToken } from '../auth/access-token.ts'
import type { Context } from '../context.ts'
import type { Runtime } from '../runtime.ts'
import { registryHost } from './registry-host.ts'

/** The user name with which registries accept an access token as the password. */
export const tokenUser = '_token'

/**
 * Returns an access token for the registry of a context, obtained with the saved sign-in. Its
 * audience is the host of the registry, so that the programs that get it cannot use it for other
 * calls of the API.
 */
export const registryToken = (context: Context, runtime: Runtime): Promise<string> =>
  currentAccessToken({ ...context, audience: registryHost(context) }, runtime)
