// The sign-in page, which oidc-provider sends people to, and what they do there.
import { createHash } from 'node:crypto'
import type { Provider } from 'oidc-provider'
import { errors } from 'oidc-provider'
import { malformed, StatusError } from '../../aip/errors.ts'
import { isUid, userUid } from '../../aip/uid.ts'
import type { Store } from '../../store/db.ts'
import { StoreError } from '../../store/db.ts'
import type { Work } from '../../store/work.ts'
import type { Throttle } from '../throttle.ts'
import { canonicalEmail, claim, findAccount, isEmail, loginOf } from './accounts.ts'
import type { Fault } from './fields.ts'
import { marksOf, newPassword } from './fields.ts'
import { html } from './html.ts'
import { hashPassword, isPassword, passwordFault } from './passwords.ts'
import { paths, prefixOf } from './paths.ts'
import type { People } from './people.ts'
import type { Profile } from './provider.ts'
import type { Upstream } from './upstream.ts'
import type { Answer, Visit } from './visit.ts'
import { problem, sentence, wordsOf } from './visit.ts'

export type SignInOptions = {
  provider(): Provider
  store: Store
  people: People
  upstream: Upstream
  authUrl: string
  findPerson(identity: string): Promise<Profile | undefined>
  onSeen(identity: string): void
  onSignIn(event: { identity?: string; by: string; address: string; reason?: string }): void
  perAccount: Throttle
  perAddress: Throttle
}

/** The address is the one that an invite may name. */
type Guest = { identity: string; email: string | undefined }

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>
/** What a page shows again of what was typed, and what was wrong with it. */
type Told = {
  status?: number
  headers?: Record<string, string>
  fault?: Fault
  email?: string
  organization?: string
}

/** What a client is told that does not want an account to be made. */
export const notRegistered = 'account_not_registered'

/** One answer whether the address or the password is wrong. */
const wrong = 'The e-mail address or the password is wrong.'

export function openSignIn(options: SignInOptions) {
  const { provider, store, people, upstream, authUrl, findPerson, onSeen, onSignIn } = options
  const { perAccount, perAddress } = options

  async function interactionOf({ request, response, path }: Visit): Promise<Interaction> {
    const interaction = await provider()
      .interactionDetails(request, response)
      .catch((error: unknown) => {
        throw error instanceof errors.SessionNotFound ? expired() : error
      })
    if (path.split('/')[2] !== interaction.uid) throw expired()
    return interaction
  }

  /** Two who come for the first time at once: the second finds what the first has written. */
  async function write<T>(work: () => Work<T>): Promise<T> {
    try {
      return await store.write(work)
    } catch (error) {
      if (error instanceof StoreError && error.kind === 'unique') return store.write(work)
      throw error
    }
  }

  /** Somebody is known, or becomes known by being written down; an invite is accepted with it, or nothing is. */
  async function finish(
    visit: Visit,
    interaction: Interaction,
    by: string,
    arrival: Guest | (() => Work<Guest>),
  ): Promise<Answer> {
    const invite = textOf(interaction.params.invite)
    const identity = await write(function* () {
      const guest = typeof arrival === 'function' ? yield* arrival() : arrival
      if (invite !== '') yield* people.acceptInvite(invite, guest)
      return guest.identity
    })
    const result = { login: { accountId: identity, amr: [by] }, consent: {} }
    const location = await provider().interactionResult(visit.request, visit.response, result)
    await leaveOther(interaction, identity)
    onSeen(identity)
    onSignIn({ identity, by, address: visit.address })
    return { location }
  }

  /** Whoever signs in as somebody else is no longer who they were in this browser. */
  async function leaveOther({ session }: Interaction, identity: string): Promise<void> {
    if (!session?.accountId || session.accountId === identity) return
    const before = await provider().Session.findByUid(session.uid)
    if (!before) return
    before.accountId = undefined as never
    before.authorizations = undefined as never
    await before.persist()
  }

  async function withPassword(visit: Visit): Promise<Answer> {
    const interaction = await interactionOf(visit)
    const form = await visit.form()
    const email = canonicalEmail(form.get('email') ?? '')
    const accountKey = createHash('sha256').update(email).digest('base64url')
    try {
      perAddress.attempt(visit.address)
      perAccount.attempt(accountKey)
      const account = await store.read(() => findAccount(email))
      if (!(await isPassword(form.get('password') ?? '', account?.password)) || !account) {
        onSignIn({ by: 'pwd', address: visit.address, reason: 'wrong address or password' })
        return loginPage(interaction, { status: 401, fault: { field: 'password', words: wrong }, email })
      }
      perAddress.succeed(visit.address)
      perAccount.succeed(accountKey)
      return await finish(visit, interaction, 'pwd', { identity: account.identity, email })
    } catch (error) {
      return told(interaction, error, { email })
    }
  }

  async function withNewAccount(visit: Visit): Promise<Answer> {
    const interaction = await interactionOf(visit)
    const form = await visit.form()
    const email = canonicalEmail(form.get('email') ?? '')
    const password = form.get('password') ?? ''
    if (textOf(interaction.params.invite) === '') throw malformed('an account is made with an invite')
    if (!isEmail(email)) return loginPage(interaction, { status: 400, fault: notAnEmail, email })
    const weakness = passwordFault(password, email)
    if (weakness !== undefined) {
      const fault = { field: 'new-password', words: `The password ${weakness}.` }
      return loginPage(interaction, { status: 400, fault, email })
    }
    try {
      // What tells whether an address is taken is not told often.
      perAddress.attempt(visit.address)
      const hash = await hashPassword(password)
      return await finish(visit, interaction, 'pwd', function* () {
        const identity = yield* claim(people, authUrl, email, hash)
        if (identity === undefined)
          throw malformed('no account can be made with this address; if you have one, sign in with it')
        // The code was given to this address, or to nobody in particular.
        return { identity, email }
      })
    } catch (error) {
      return told(interaction, error, { email })
    }
  }

  /** Sends them to the provider of their organization. */
  async function withOrganization(visit: Visit): Promise<Answer> {
    const interaction = await interactionOf(visit)
    const organization = ((await visit.form()).get('organization') ?? '').trim()
    return toProvider(interaction, organization)
  }

  async function toProvider(interaction: Interaction, named: string): Promise<Answer> {
    try {
      return { location: await upstream.start(named, interaction.uid) }
    } catch (error) {
      return told(interaction, error, { organization: isUid(named) ? '' : named, field: 'organization' })
    }
  }

  async function fromProvider(visit: Visit): Promise<Answer> {
    const interaction = await interactionOf(visit)
    try {
      const { person, provider: uid } = await upstream.finish(visit.query, interaction.uid)
      const isKnown = await findPerson(userUid(person.issuer, person.subject))
      if (!isKnown && textOf(interaction.params.skip_registration) === 'true')
        return await refuse(visit, notRegistered, 'there is no account yet, and none was to be made')
      return await finish(visit, interaction, 'fed', function* () {
        const identity = yield* people.ensure(person)
        yield* people.comeBy(uid, identity)
        return { identity, email: person.email }
      })
    } catch (error) {
      const reason = error instanceof Error ? String(error.cause ?? error.message) : ''
      onSignIn({ by: 'fed', address: visit.address, reason })
      return told(interaction, error)
    }
  }

  async function asBefore(visit: Visit): Promise<Answer> {
    const interaction = await interactionOf(visit)
    const identity = interaction.session?.accountId
    const person = identity && (await findPerson(identity))
    if (!identity || !person) return loginPage(interaction)
    try {
      return await finish(visit, interaction, 'session', function* () {
        return { identity, email: person.email ?? (yield* loginOf(identity)) }
      })
    } catch (error) {
      return told(interaction, error)
    }
  }

  async function cancel(visit: Visit): Promise<Answer> {
    await interactionOf(visit)
    return refuse(visit, 'access_denied', 'the person did not want to sign in')
  }

  async function refuse({ request, response }: Visit, error: string, description: string): Promise<Answer> {
    const result = { error, error_description: description }
    return { location: await provider().interactionResult(request, response, result) }
  }

  async function show(visit: Visit): Promise<Answer> {
    const interaction = await interactionOf(visit)
    const isOther = visit.query.has('other')
    const known = isOther ? undefined : interaction.session?.accountId
    const person = known && (await findPerson(known))
    if (person) return continuePage(interaction, person)
    const named = textOf(interaction.params.idp_id)
    return named !== '' && !isOther ? toProvider(interaction, named) : loginPage(interaction)
  }

  function told(
    interaction: Interaction,
    error: unknown,
    { field = 'email', ...typed }: Pick<Told, 'email' | 'organization'> & { field?: string } = {},
  ): Promise<Answer> {
    if (!(error instanceof StatusError)) throw error
    const headers = error.headers['retry-after'] ? { 'retry-after': error.headers['retry-after'] } : {}
    const fault = { field, words: sentence(wordsOf(error)) }
    return loginPage(interaction, { status: error.http, headers, fault, ...typed })
  }

  const actionOf = ({ uid }: Interaction, rest = '') => `${prefixOf(authUrl)}${paths.signIn}/${uid}${rest}`

  function continuePage(interaction: Interaction, { name, email }: Profile): Answer {
    return {
      title: 'Continue?',
      body: html`${noticeOf(interaction)}<p>You are signed in as <strong>${email ?? name}</strong>.</p>
<form method="post" action="${actionOf(interaction, '/continue')}"><button autofocus>Continue</button></form>
<form method="get" action="${actionOf(interaction)}"><button class="plain" name="other" value="1">Use another account</button></form>
${cancelForm(interaction)}`,
    }
  }

  const cancelForm = (interaction: Interaction) =>
    html`<form method="post" action="${actionOf(interaction, '/cancel')}"><button class="plain">Cancel</button></form>`

  async function loginPage(interaction: Interaction, typed: Told = {}): Promise<Answer> {
    const { status = 200, headers = {}, fault, organization = '' } = typed
    const isInvited = textOf(interaction.params.invite) !== ''
    const email = typed.email ?? textOf(interaction.params.login_hint)
    const mark = (field: string, rule?: string) => marksOf(field, fault?.field ?? 'email', fault, rule)
    const isOffered = organization !== '' || (await upstream.isAnyOffered())
    return {
      title: 'Sign in',
      ...{ status, headers },
      body: html`${problem(fault?.words)}${noticeOf(interaction)}
${isInvited && html`<p>You were invited. Sign in, or make an account below, to accept.</p>`}
<form method="post" action="${actionOf(interaction)}">
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" value="${email}" required autocomplete="username" ${mark('email')}>
<label for="password">Password</label>
<input id="password" name="password" type="password" required autocomplete="current-password" ${mark('password')}>
<button>Sign in</button>
</form>
${
  isInvited &&
  html`<h2>New here</h2>
<form method="post" action="${actionOf(interaction, '/account')}">
<label for="new-email">E-mail address</label>
<input id="new-email" name="email" type="email" value="${email}" required autocomplete="username" ${mark('new-email')}>
${newPassword(mark('new-password', 'password-rule'), 'new-password')}
<button>Make an account</button>
</form>`
}
${
  isOffered &&
  html`<h2>With your organization</h2>
<form method="post" action="${actionOf(interaction, '/organization')}">
<label for="organization">Its domain</label>
<input id="organization" name="organization" value="${organization}" required placeholder="example.com"
  autocomplete="organization" autocapitalize="none" spellcheck="false" ${mark('organization')}>
<button class="plain">Go to its sign-in</button>
</form>`
}
${cancelForm(interaction)}`,
    }
  }

  return { show, withPassword, withNewAccount, withOrganization, fromProvider, asBefore, cancel }
}

const notAnEmail = { field: 'new-email', words: 'The e-mail address is not one.' }

/** Where the sign-in goes to another machine, the person must know it. */
function noticeOf({ params, deviceCode }: Interaction) {
  const code = textOf(params.headless_code)
  if (deviceCode !== undefined) return html`<p>This signs in the device whose code you have entered.</p>`
  if (code === '') return undefined
  return html`<p>A program on another machine asks to be signed in as you. Go on only if you started it and it shows an
address with this in it:</p><p class="code">${code.slice(0, 8)}</p>`
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : '')

const expired = () => malformed('this sign-in has expired, or was begun in another browser; start again')
