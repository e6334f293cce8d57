// Sign-in by the identity provider of an organization.
import { StatusError } from '../../../aip/errors.ts'
import { isUid, userUid } from '../../../aip/uid.ts'
import { organizationPage } from '../../../pages/sign-in/organization.ts'
import type { PageEvent } from '../page-log.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import { finishUpstream } from '../upstream/finish.ts'
import { startUpstream } from '../upstream/start.ts'
import { requireProvider } from '../upstream/upstream.ts'
import type { SignInDependencies } from './dependencies.ts'
import { finishSignIn } from './finish.ts'
import type { Interaction } from './interaction.ts'
import { notRegistered, pageContextOf, parameterOf, refuseSignIn, requireInteraction } from './interaction.ts'
import { showLoginError } from './login-form.ts'

/** Asks whether to sign in at a provider. `reference` is its uid or the domain of its organization. */
export async function confirmOrganization(
  deps: SignInDependencies,
  interaction: Interaction,
  reference: string,
): Promise<PageResponse> {
  try {
    const { organization: name, domain } = await requireProvider(deps.upstream, reference)
    const choice = { reference, name, isVerified: domain !== undefined }
    return { page: organizationPage(await pageContextOf(deps, interaction), choice) }
  } catch (error) {
    return showOrganizationError(deps, interaction, error, reference)
  }
}

/** Sends the browser to the provider of the organization that the form names. */
export async function goToOrganization(
  deps: SignInDependencies,
  request: PageRequest,
): Promise<PageResponse> {
  const interaction = await requireInteraction(deps, request)
  const reference = ((await request.form()).get('organization') ?? '').trim()
  try {
    return { location: await startUpstream(deps.upstream, reference, { interaction: interaction.uid }) }
  } catch (error) {
    return showOrganizationError(deps, interaction, error, reference)
  }
}

/** The form shows the domain that the person typed, but no uid, because a uid comes from a link. */
const showOrganizationError = (
  deps: SignInDependencies,
  interaction: Interaction,
  error: unknown,
  reference: string,
) =>
  showLoginError(deps, interaction, error, 'organization', {
    organization: isUid(reference) ? '' : reference,
  })

/** Signs in the person who returns from a provider. */
export async function returnFromOrganization(
  deps: SignInDependencies,
  request: PageRequest,
): Promise<PageResponse> {
  const { upstream, people, findPerson } = deps
  const interaction = await requireInteraction(deps, request)
  try {
    const provided = await finishUpstream(upstream, request.query, { interaction: interaction.uid })
    const { person, provider, claimed } = provided
    if (claimed.ignored > 0) deps.onIgnoredGroups({ provider, count: claimed.ignored })
    const uid = userUid(person.issuer, person.subject)
    const isKnown = await findPerson(uid)
    if (!isKnown && parameterOf(interaction, 'skip_registration') === 'true')
      return await refuseSignIn(deps, request, notRegistered, 'there is no account, and none may be created')
    let ignoredCount = 0
    const response = await finishSignIn(deps, request, interaction, 'fed', function* () {
      const identity = yield* people.ensureSignedIn(provided)
      yield* people.grantDefaultRole(provider, identity)
      ignoredCount = yield* people.replaceGroups(provider, identity, claimed.groups)
      return { identity, email: person.email, provider }
    }).catch((error: unknown) => {
      const event: PageEvent = {
        method: 'sign-in',
        action: 'refused',
        identity: uid,
        provider,
        details: { by: 'fed' },
      }
      if (error instanceof StatusError) deps.pageLog.addRefused(request, { ...event, code: error.code })
      throw error
    })
    if (ignoredCount > 0) deps.onIgnoredGroups({ provider, count: ignoredCount })
    return response
  } catch (error) {
    const reason = error instanceof Error ? String(error.cause ?? error.message) : ''
    deps.onSignInResult({ by: 'fed', address: request.address, reason })
    return showLoginError(deps, interaction, error, 'email')
  }
}
