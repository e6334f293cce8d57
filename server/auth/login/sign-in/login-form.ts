import { retryHeaders, StatusError } from '../../../aip/errors.ts'
import type { FieldError } from '../../../pages/fields.ts'
import { loginPage } from '../../../pages/sign-in/login.ts'
import { plainMessage, sentence } from '../error-response.ts'
import type { PageResponse } from '../page-request.ts'
import { hasAnyProvider } from '../upstream/known-providers.ts'
import type { SignInDependencies } from './dependencies.ts'
import type { Interaction } from './interaction.ts'
import { pageContextOf, parameterOf } from './interaction.ts'
import { passkeyOffer } from './passkey-offer.ts'

/** Values that the person has entered, to be shown again. */
type EnteredValues = { email?: string; organization?: string }

type LoginFormOptions = EnteredValues & {
  status?: number
  headers?: Record<string, string>
  error?: FieldError
}

export async function showLoginForm(
  deps: SignInDependencies,
  interaction: Interaction,
  { status = 200, headers = {}, error, email, organization = '' }: LoginFormOptions = {},
): Promise<PageResponse> {
  const page = loginPage(await pageContextOf(deps, interaction), {
    passkey: passkeyOffer(deps, interaction),
    email: email ?? parameterOf(interaction, 'login_hint'),
    ...{ organization, error },
    isOrganizationOffered: organization !== '' || (await hasAnyProvider(deps.store)),
  })
  return { page, status, headers }
}

/** Shows the form again with an error. Unexpected errors are rethrown. */
export function showLoginError(
  deps: SignInDependencies,
  interaction: Interaction,
  error: unknown,
  field: string,
  entered: EnteredValues = {},
): Promise<PageResponse> {
  if (!(error instanceof StatusError)) throw error
  const message = sentence(plainMessage(error))
  const headers = retryHeaders(error)
  return showLoginForm(deps, interaction, {
    ...{ status: error.http, headers, error: { field, message } },
    ...entered,
  })
}
