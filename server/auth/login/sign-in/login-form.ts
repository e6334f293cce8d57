import { retryHeaders, StatusError } from '../../../aip/errors.ts'
import type { FieldError } from '../../../pages/fields.ts'
import { loginPage } from '../../../pages/sign-in/login.ts'
import { plainMessage, sentence } from '../error-response.ts'
import type { PageResponse } from '../page-request.ts'
import { hasAnyProvider } from '../upstream/known-providers.ts'
import type { SignInDependencies } from './dependencies.ts'
import type { Interaction } from './interaction.ts'
import { pageContextOf, parameterOf } from './interaction.ts'

/** Values that the person has typed, to be shown again. */
type TypedValues = { email?: string; organization?: string }

type LoginFormOptions = TypedValues & {
  status?: number
  headers?: Record<string, string>
  error?: FieldError
}

export async function showLoginForm(
  { authUrl, store }: SignInDependencies,
  interaction: Interaction,
  { status = 200, headers = {}, error, email, organization = '' }: LoginFormOptions = {},
): Promise<PageResponse> {
  const page = loginPage(pageContextOf(authUrl, interaction), {
    email: email ?? parameterOf(interaction, 'login_hint'),
    ...{ organization, error },
    isOrganizationOffered: organization !== '' || (await hasAnyProvider(store)),
  })
  return { page, status, headers }
}

/** Shows the form again with an error. Errors that the caller did not cause are rethrown. */
export function showLoginError(
  deps: SignInDependencies,
  interaction: Interaction,
  error: unknown,
  field: string,
  typed: TypedValues = {},
): Promise<PageResponse> {
  if (!(error instanceof StatusError)) throw error
  const message = sentence(plainMessage(error))
  const headers = retryHeaders(error)
  return showLoginForm(deps, interaction, {
    ...{ status: error.http, headers, error: { field, message } },
    ...typed,
  })
}
