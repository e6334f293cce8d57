// Invites by link. The page shows an invite to whoever has its code; the sign-in that follows accepts it.

import type { Page } from '../../../pages/frame.ts'
import { expiredInvitePage, invitePage, unknownInvitePage } from '../../../pages/invite.ts'
import { prefixOf } from '../../../pages/url-prefix.ts'
import type { Store } from '../../../store/db.ts'
import type { InviteDescription } from '../../../wire/invite-description.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import { consolePaths, paths } from '../paths.ts'
import type { People } from '../people.ts'

export type InviteDependencies = {
  store: Store
  people: People
  authUrl: string
  baseUrl: string
  now(): number
}

/** Shows an invite, and changes nothing: programs that check links may open it. */
export async function showInvite(deps: InviteDependencies, { path }: PageRequest): Promise<PageResponse> {
  const code = codeOf(path.slice(paths.invite.length + 1))
  const found = await findInvite(deps, code)
  if ('page' in found) return found
  return { page: invitePage({ ...found.invite, action: prefixOf(deps.authUrl) + paths.invite, code }) }
}

/**
 * Leads to the sign-in of the console, which accepts the invite at its end. The form was sent from our own page, which
 * `requireOwnOrigin` has checked.
 */
export async function acceptInviteInBrowser(
  deps: InviteDependencies,
  request: PageRequest,
): Promise<PageResponse> {
  const code = (await request.form()).get('code') ?? ''
  const found = await findInvite(deps, code)
  if ('page' in found) return found
  const parameters = new URLSearchParams({ invite: code, to: consolePaths.home })
  if (found.invite.email !== '') parameters.set('login_hint', found.invite.email)
  return { location: `${deps.baseUrl}${consolePaths.signIn}?${parameters}` }
}

/** The invite, or the page that says why it cannot be accepted. */
async function findInvite(
  { store, people, now }: InviteDependencies,
  code: string,
): Promise<{ page: Page; status: number } | { invite: InviteDescription }> {
  const invite = await store.read(() => people.describeInvite(code))
  if (!invite) return { page: unknownInvitePage, status: 404 }
  const { groups, creator, expires } = invite
  if (expires <= now()) return { page: expiredInvitePage(groups[0] ?? '', creator), status: 410 }
  return { invite }
}

/** Links contain the code as base64url (resources/iam/group-invites/code.ts). */
const codeOf = (text: string) => Buffer.from(text, 'base64url').toString('base64')
