// Setting up an empty server: the first organization and its owner, who becomes an operator of the server.
import { malformed } from '../../../aip/errors.ts'
import type { FieldError } from '../../../pages/fields.ts'
import type { SetUpForm } from '../../../pages/set-up.ts'
import { readyPage, setUpPage } from '../../../pages/set-up.ts'
import { prefixOf } from '../../../pages/url-prefix.ts'
import { insertOperator } from '../../../store/operators.ts'
import { raw, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import { newSignInTime } from '../../sign-outs.ts'
import { ensureVouchedAccount, isEmail, setPassword } from '../accounts.ts'
import type { ConsoleDependencies } from '../console/session.ts'
import { startConsoleSession } from '../console/session.ts'
import { signInIdOf } from '../expiring-states.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import { passwordFault } from '../passwords.ts'
import { paths } from '../paths.ts'
import { recordConsoleSignIn } from '../provider/record-sign-ins.ts'
import type { SetUpDependencies } from './dependencies.ts'
import { usedLink } from './dependencies.ts'
import { setUpLinkKind } from './set-up-link.ts'

const advice = 'start the server again to get another'

const organizationRule =
  'The name of the organization must be made of lowercase letters, digits, spaces, dots, dashes and underscores.'

export async function showSetUp(deps: SetUpDependencies, { query }: PageRequest): Promise<PageResponse> {
  const code = query.get('code') ?? ''
  await deps.store.read(() => requireLink(deps, code))
  return { page: setUpPage({ ...formOf(deps, code), organization: '', email: '' }) }
}

export async function setUpServer(
  deps: SetUpDependencies & ConsoleDependencies,
  request: PageRequest,
): Promise<PageResponse> {
  const form = await request.form()
  const field = (name: string) => form.get(name) ?? ''
  const [code, organization, email] = [field('code'), field('organization'), field('email').trim()]
  await deps.store.read(() => requireLink(deps, code))
  const error = errorOf(deps, organization, email, field('password'))
  if (error) {
    const typed: SetUpForm = { ...formOf(deps, code), organization, email, error }
    return { page: setUpPage(typed), status: 400 }
  }
  const passwordHash = await deps.usePasswords(request.address, ({ hash }) => hash(field('password')))
  const created = await deps.store.write(() =>
    createOwner(deps, request, { code, organization, email, passwordHash }),
  )
  deps.onSetUp(created)
  const isSignedIn = await signInToConsole(deps, request, created.identity)
  return { page: readyPage(`${organization} is ready`, email, deps.baseUrl, isSignedIn) }
}

/**
 * The owner has just chosen the password, so the console does not ask for it. The cookie belongs to
 * the host of the API. If the sign-in pages are on another host, the owner has to sign in.
 */
async function signInToConsole(
  deps: ConsoleDependencies,
  page: PageRequest,
  identity: string,
): Promise<boolean> {
  const { store, now, random, authUrl, baseUrl } = deps
  if (new URL(authUrl).origin !== new URL(baseUrl).origin) return false
  const grant = random(32).toString('base64url')
  const id = signInIdOf(grant)
  const signedInAt = await store.write(function* () {
    yield* recordConsoleSignIn(id, identity, { page, now: now() })
    return yield* newSignInTime(identity, now())
  })
  await startConsoleSession(deps, page, { signIn: { person: identity, signedInAt, id }, grant })
  return true
}

const formOf = ({ authUrl }: SetUpDependencies, code: string) => ({
  action: prefixOf(authUrl) + paths.setUp,
  code,
})

/** Throws if the link was used or has expired, or if an organization was created in another way. */
function* requireLink({ states }: SetUpDependencies, code: string): Work<void> {
  const state = yield* states.find(setUpLinkKind, code)
  if (!state || state.useTime !== undefined) throw usedLink(advice)
  if (yield* first(sql`select uid from groups limit 1`))
    throw malformed('this server is set up already: sign in with stemma auth login', 410)
}

function errorOf(
  { people }: SetUpDependencies,
  organization: string,
  email: string,
  password: string,
): FieldError | undefined {
  if (people.organizationNameFault(organization)) return { field: 'organization', message: organizationRule }
  if (!isEmail(email)) return { field: 'email', message: 'The e-mail address is not valid.' }
  const fault = passwordFault(password, email)
  return fault === undefined ? undefined : { field: 'password', message: `The password ${fault}.` }
}

type Owner = { code: string; organization: string; email: string; passwordHash: string }

function* createOwner(
  deps: SetUpDependencies,
  request: PageRequest,
  { code, organization, email, passwordHash }: Owner,
): Work<{ identity: string; organization: string }> {
  const { states, people, authUrl, now } = deps
  // Waits for transactions that create an organization in another way, so that the check below sees it.
  yield raw('/*pg lock table groups in share row exclusive mode -- */ select 1')
  yield* requireLink(deps, code)
  if (!(yield* states.use(setUpLinkKind, code))) throw usedLink(advice)
  const identity = yield* ensureVouchedAccount(people, authUrl, email, now())
  yield* setPassword(identity, passwordHash, now())
  yield* insertOperator(identity, now())
  for (const action of ['password-set', 'operator-added'] as const)
    yield* deps.pageLog.record(request, { method: 'set-up', kind: 'accounts', action, identity })
  return { identity, organization: yield* people.createOrganization(organization, identity) }
}
