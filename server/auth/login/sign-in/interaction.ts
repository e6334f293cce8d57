// A sign-in under way, which oidc-provider calls an interaction. A cookie of the browser identifies it.
import type { Provider } from 'oidc-provider'
import { errors } from 'oidc-provider'
import type { SignInContext } from '../../../pages/sign-in/context.ts'
import { prefixOf } from '../../../pages/url-prefix.ts'
import { expiredSignIn } from '../error-response.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import { paths } from '../paths.ts'
import { clientNames } from '../provider/clients.ts'
import type { SignInDependencies } from './dependencies.ts'

export type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>

/** The sign-in that a request belongs to. The path and the cookie of the request must both name it. */
export async function requireInteraction(
  { provider }: SignInDependencies,
  { request, response, path }: PageRequest,
): Promise<Interaction> {
  const interaction = await provider()
    .interactionDetails(request, response)
    .catch((error: unknown) => {
      throw error instanceof errors.SessionNotFound ? expiredSignIn() : error
    })
  const [, , uid] = path.split('/')
  if (uid !== interaction.uid) throw expiredSignIn()
  return interaction
}

/** A parameter of the authorization request, empty if it is absent. */
export const parameterOf = ({ params }: Interaction, name: string): string =>
  typeof params[name] === 'string' ? params[name] : ''

/** Whether the program asks the person to sign in again, even if the browser has a session. */
export const isLoginRequired = (interaction: Interaction) =>
  parameterOf(interaction, 'prompt').split(' ').includes('login')

export async function pageContextOf(
  { authUrl, store, people }: Pick<SignInDependencies, 'authUrl' | 'store' | 'people'>,
  interaction: Interaction,
): Promise<SignInContext> {
  const code = parameterOf(interaction, 'invite')
  const invite = code === '' ? undefined : await store.read(() => people.describeInvite(code))
  return {
    server: new URL(authUrl).host,
    program: clientNames[parameterOf(interaction, 'client_id')] ?? 'A program',
    path: `${prefixOf(authUrl)}${paths.signIn}/${interaction.uid}`,
    isDevice: interaction.deviceCode !== undefined,
    headlessCode: parameterOf(interaction, 'headless_code'),
    isInvited: code !== '',
    canMakeAccount: code !== '' && !invite?.email,
    invitedTo: invite?.groups.join(' / ') ?? '',
  }
}

/** OAuth error code: the person has no account, and the client asked not to create one (`skip_registration`). */
export const notRegistered = 'account_not_registered'

/** Ends a sign-in with an error, which the client receives. */
export async function refuseSignIn(
  { provider }: SignInDependencies,
  { request, response }: PageRequest,
  error: string,
  description: string,
): Promise<PageResponse> {
  const result = { error, error_description: description }
  return { location: await provider().interactionResult(request, response, result) }
}
