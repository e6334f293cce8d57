// The sign-in page, which oidc-provider sends people to, and what they do there.
import type { Provider } from 'oidc-provider'
import { errors } from 'oidc-provider'
import { malformed, StatusError } from '../../aip/errors.ts'
import { isUid, userUid } from '../../aip/uid.ts'
import { digestOf } from '../../crypto/digest.ts'
import type { Store } from '../../store/db.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Work } from '../../store/work.ts'
import { networkOf } from '../client-network.ts'
import { signInSecond } from '../sign-outs.ts'
import type { Attempt, Throttle } from '../throttle.ts'
import { attemptAll } from '../throttle.ts'
import { canonicalEmail, claim, findAccount, isEmail, loginOf } from './accounts.ts'
import { hashPassword, isPassword, passwordFault } from './passwords.ts'
import type { People } from './people.ts'
import type { Profile } from './provider.ts'
import type { Interaction, Told } from './sign-in-pages.ts'
import { parameterOf, signInPages } from './sign-in-pages.ts'
import type { Upstream } from './upstream.ts'
import type { Answer, Visit } from './visit.ts'
import { expired, retryOf, sentence, wordsOf } from './visit.ts'

export type SignInOptions = {
  provider(): Provider
  store: Store
  people: People
  upstream: Upstream
  authUrl: string
  findPerson(identity: string): Promise<Profile | undefined>
  now(): number
  onSeen(identity: string): void
  onSignIn(event: { identity?: string; by: string; address: string; reason?: string }): void
  perAccount: Throttle
  perAccountAndAddress: Throttle
  perAddress: Throttle
}

/** The address is the one that an invite may name. */
type Guest = { identity: string; email: string | undefined }

/** What a client is told that does not want an account to be made. */
export const notRegistered = 'account_not_registered'

/** One answer whether the address or the password is wrong. */
const wrong = 'The e-mail address or the password is wrong.'

export function openSignIn(options: SignInOptions) {
  const { provider, store, people, upstream, authUrl, findPerson, now, onSeen, onSignIn } = options
  const { perAccount, perAccountAndAddress, perAddress } = options
  const { continuePage, providerPage, loginPage } = signInPages(authUrl, upstream.isAnyOffered)

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
    const invite = parameterOf(interaction, 'invite')
    const { identity, second } = await write(function* () {
      const guest = typeof arrival === 'function' ? yield* arrival() : arrival
      if (invite !== '') yield* people.acceptInvite(invite, guest)
      return { identity: guest.identity, second: yield* signInSecond(guest.identity, now()) }
    })
    const result = { login: { accountId: identity, amr: [by], ts: second }, consent: {} }
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
    const account = digestOf(email)
    // Whoever guesses keeps away themselves long before the person whose account it is.
    const attempts: Attempt[] = [
      [perAddress, visit.address],
      [perAccountAndAddress, `${account} ${networkOf(visit.address)}`],
      [perAccount, account],
    ]
    try {
      const succeed = attemptAll(attempts)
      const found = await store.read(() => findAccount(email))
      if (!(await isPassword(form.get('password') ?? '', found?.password)) || !found) {
        onSignIn({ by: 'pwd', address: visit.address, reason: 'wrong address or password' })
        return loginPage(interaction, { status: 401, fault: { field: 'password', words: wrong }, email })
      }
      succeed()
      return await finish(visit, interaction, 'pwd', { identity: found.identity, email })
    } catch (error) {
      return told(interaction, error, { email })
    }
  }

  async function withNewAccount(visit: Visit): Promise<Answer> {
    const interaction = await interactionOf(visit)
    const form = await visit.form()
    const email = canonicalEmail(form.get('email') ?? '')
    const password = form.get('password') ?? ''
    if (parameterOf(interaction, 'invite') === '') throw malformed('an account is made with an invite')
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
        // Before it is told whether the address is free, which is for guests alone.
        yield* people.requireInvite(parameterOf(interaction, 'invite'), email)
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

  async function beforeProvider(interaction: Interaction, named: string): Promise<Answer> {
    try {
      return providerPage(interaction, named, await upstream.describe(named))
    } catch (error) {
      return told(interaction, error, { organization: isUid(named) ? '' : named, field: 'organization' })
    }
  }

  async function fromProvider(visit: Visit): Promise<Answer> {
    const interaction = await interactionOf(visit)
    try {
      const { person, provider: uid } = await upstream.finish(visit.query, interaction.uid)
      const isKnown = await findPerson(userUid(person.issuer, person.subject))
      if (!isKnown && parameterOf(interaction, 'skip_registration') === 'true')
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
    const named = parameterOf(interaction, 'idp_id')
    return named !== '' && !isOther ? beforeProvider(interaction, named) : loginPage(interaction)
  }

  function told(
    interaction: Interaction,
    error: unknown,
    { field = 'email', ...typed }: Pick<Told, 'email' | 'organization'> & { field?: string } = {},
  ): Promise<Answer> {
    if (!(error instanceof StatusError)) throw error
    const fault = { field, words: sentence(wordsOf(error)) }
    return loginPage(interaction, { status: error.http, headers: retryOf(error), fault, ...typed })
  }

  return { show, withPassword, withNewAccount, withOrganization, fromProvider, asBefore, cancel }
}

const notAnEmail = { field: 'new-email', words: 'The e-mail address is not one.' }
