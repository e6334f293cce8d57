// Links that are good for one use: the one that sets up an empty server, and those at which a person chooses a
// password.
import { malformed } from '../../aip/errors.ts'
import { html } from '../../pages/html.ts'
import type { Store } from '../../store/db.ts'
import { raw, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import { isEmail, loginOf, passwordLink, setPassword, vouchFor } from './accounts.ts'
import type { Fault } from './fields.ts'
import { marksOf, newPassword } from './fields.ts'
import { hashPassword, passwordFault } from './passwords.ts'
import { paths, prefixOf } from './paths.ts'
import type { People } from './people.ts'
import { setUpLink } from './set-up-link.ts'
import type { States } from './states.ts'
import type { Answer, Visit } from './visit.ts'
import { problem } from './visit.ts'

export type SetUpOptions = {
  store: Store
  states: States
  people: People
  authUrl: string
  baseUrl: string
  now(): number
  onSetUp(event: { organization?: string; identity: string }): void
}

const usedUp = (next: string) => malformed(`this link was used before, or has expired; ${next}`, 410)
const startAgain = 'start the server again to get another'
const askAgain = 'ask who runs this server for another'

const organizationRule =
  'The name of the organization must be made of small letters, digits, spaces, dots, dashes and underscores.'

export function openSetUp({ store, states, people, authUrl, baseUrl, now, onSetUp }: SetUpOptions) {
  /** Good as long as nobody has made an organization, by whatever way. */
  function* requireSetUp(code: string): Work<void> {
    const state = yield* states.find(setUpLink, code)
    if (!state || state.useTime !== undefined) throw usedUp(startAgain)
    if (yield* first(sql`select uid from groups limit 1`))
      throw malformed('this server is set up already: sign in with stemma auth login', 410)
  }

  async function showSetUp({ query }: Visit): Promise<Answer> {
    const code = query.get('code') ?? ''
    await store.read(() => requireSetUp(code))
    return setUpPage(code)
  }

  async function setUp(visit: Visit): Promise<Answer> {
    const form = await visit.form()
    const fields = ['code', 'organization', 'email', 'password'].map((name) => form.get(name) ?? '')
    const [code = '', organization = '', typed = '', password = ''] = fields
    const email = typed.trim()
    await store.read(() => requireSetUp(code))
    const fault = faultOf(organization, email, password)
    if (fault) return setUpPage(code, { organization, email, fault })
    const hash = await hashPassword(password)
    const made = await store.write(function* () {
      // Waits for whoever is about to make one by another way.
      yield raw('/*pg lock table groups in share row exclusive mode -- */ select 1')
      yield* requireSetUp(code)
      if (!(yield* states.use(setUpLink, code))) throw usedUp(startAgain)
      const identity = yield* vouchFor(people, authUrl, email, now())
      yield* setPassword(identity, hash, now())
      return { identity, organization: yield* people.found(organization, identity) }
    })
    onSetUp(made)
    return readyPage(`${organization} is ready`, email)
  }

  function faultOf(organization: string, email: string, password: string): Fault | undefined {
    if (people.nameFault(organization)) return { field: 'organization', words: organizationRule }
    if (!isEmail(email)) return { field: 'email', words: 'The e-mail address is not one.' }
    const weakness = passwordFault(password, email)
    return weakness === undefined ? undefined : { field: 'password', words: `The password ${weakness}.` }
  }

  async function personOf(code: string): Promise<{ identity: string; email: string }> {
    const person = await store.read(function* () {
      const state = yield* states.find(passwordLink, code)
      if (!state?.identity || state.useTime !== undefined) return undefined
      const email = yield* loginOf(state.identity)
      return email === undefined ? undefined : { identity: state.identity, email }
    })
    if (!person) throw usedUp(askAgain)
    return person
  }

  async function showPassword({ query }: Visit): Promise<Answer> {
    const code = query.get('code') ?? ''
    return passwordPage(code, (await personOf(code)).email)
  }

  async function choosePassword(visit: Visit): Promise<Answer> {
    const form = await visit.form()
    const [code, password] = [form.get('code') ?? '', form.get('password') ?? '']
    const { identity, email } = await personOf(code)
    const fault = passwordFault(password, email)
    if (fault) return passwordPage(code, email, `The password ${fault}.`)
    const hash = await hashPassword(password)
    await store.write(function* () {
      if (!(yield* states.use(passwordLink, code))) throw usedUp(askAgain)
      yield* setPassword(identity, hash, now())
    })
    onSetUp({ identity })
    return readyPage('Your password is set', email)
  }

  const pathOf = (path: string) => prefixOf(authUrl) + path

  type Typed = { organization: string; email: string; fault?: Fault }

  function setUpPage(code: string, typed: Typed = { organization: '', email: '' }): Answer {
    const { organization, email, fault } = typed
    const mark = (field: string, rule?: string) => marksOf(field, fault?.field ?? 'organization', fault, rule)
    return {
      title: 'Set up this server',
      status: fault ? 400 : 200,
      body: html`${problem(fault?.words)}<p>Make the first organization, and the account of its owner.</p>
<form method="post" action="${pathOf(paths.setUp)}">
<input type="hidden" name="code" value="${code}">
<label for="organization">Name of the organization</label>
<input id="organization" name="organization" value="${organization}" required placeholder="acme"
  autocapitalize="none" spellcheck="false" autocomplete="organization" ${mark('organization', 'name-rule')}>
<p class="quiet" id="name-rule">Small letters, digits, spaces, dots, dashes and underscores.</p>
<label for="email">Your e-mail address</label>
<input id="email" name="email" type="email" value="${email}" required autocomplete="username" ${mark('email')}>
${newPassword(mark('password', 'password-rule'))}
<button>Set up</button>
</form>`,
    }
  }

  function passwordPage(code: string, email: string, words?: string): Answer {
    const fault = words === undefined ? undefined : { field: 'password', words }
    return {
      title: 'Choose a password',
      status: fault ? 400 : 200,
      body: html`${problem(words)}<p>For <strong>${email}</strong>.</p>
<form method="post" action="${pathOf(paths.password)}">
<input type="hidden" name="code" value="${code}">
<input type="email" name="username" value="${email}" autocomplete="username" hidden readonly>
${newPassword(marksOf('password', 'password', fault, 'password-rule'))}
<button>Set the password</button>
</form>`,
    }
  }

  const apiFlag = baseUrl === 'http://localhost:8080' ? undefined : html` <span>--api ${baseUrl}</span>`

  const readyPage = (title: string, email: string): Answer => ({
    title,
    body: html`<p>Sign in as <strong>${email}</strong> from a terminal:</p>
<p><code><span>npx stemma auth login</span>${apiFlag}</code></p>`,
  })

  return { showSetUp, setUp, showPassword, choosePassword }
}
