// Refused sign-ins in the event log.
import { StatusError } from '../../../aip/errors.ts'
import type { PageRequest } from '../page-request.ts'
import type { SignInDependencies } from './dependencies.ts'

/** For `by`, see `SignInEvent`. */
type Attempt = { identity: string | undefined; by: string; provider?: string | undefined }

/** Records nothing without an identity: it is not known then whose log the event belongs to. */
export function logRefusal(
  { pageLog }: Pick<SignInDependencies, 'pageLog'>,
  request: PageRequest,
  { identity, by, provider }: Attempt,
  code: number,
): void {
  if (identity === undefined) return
  pageLog.addRefused(request, {
    ...{ method: 'sign-in', action: 'refused', identity, provider, code, details: { by } },
  })
}

/** Finishes the sign-in of a person who has proven who they are, and records it if it is refused. */
export async function loggingRefusal<T>(
  deps: Pick<SignInDependencies, 'pageLog'>,
  request: PageRequest,
  attempt: Attempt,
  finish: () => Promise<T>,
): Promise<T> {
  try {
    return await finish()
  } catch (error) {
    if (error instanceof StatusError) logRefusal(deps, request, attempt, error.code)
    throw error
  }
}
