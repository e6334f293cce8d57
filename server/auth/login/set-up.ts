// Links that are good for one use: the one that sets up an empty server, and those at which a person chooses a
// password.
import { malformed } from '../../aip/errors.ts'
import type { Store } from '../../store/db.ts'
import { raw, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import { isEmail, loginOf, passwordLink, setPassword, vouchFor } from './accounts.ts'
import { html } from './html.ts'
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
  onSetUp(event: { organization?: string; identity: string }): void
}

const usedUp = () => malformed('this link was used before, or has expired', 410)

export function openSetUp({ store, states, people, authUrl, baseUrl, onSetUp }: SetUpOptions) {
  /** Good as long as nobody has made an organization, by whatever way. */
  function* requireSetUp(code: string): Work<void> {
    const state = yield* states.find(setUpLink, code)
    if (!state || state.useTime !== undefined) throw usedUp()
    if (yield* first(sql`select uid from groups limit 1`))
      throw malformed('this server is set up already; sign in in place of it', 410)
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
    if (fault) return setUpPage(code, { organization, email, problem: fault })
    const hash = await hashPassword(password)
    const made = await store.write(function* () {
      // Waits for whoever is about to make one by another way.
      yield raw('/*pg lock table groups in share row exclusive mode -- */ select 1')
      yield* requireSetUp(code)
      if (!(yield* states.use(setUpLink, code))) throw usedUp()
      const identity = yield* vouchFor(people, authUrl, email)
      yield* setPassword(identity, hash)
      return { identity, organization: yield* people.found(organization, identity) }
    })
    onSetUp(made)
    return readyPage(`${organization} is ready`, email)
  }

  function faultOf(organization: string, email: string, password: string): string | undefined {
    const name = people.nameFault(organization)
    if (name) return `The name of the organization ${name}.`
    if (!isEmail(email)) return 'The e-mail address is not one.'
    const weakness = passwordFault(password, email)
    return weakness && `The password ${weakness}.`
  }

  async function personOf(code: string): Promise<{ identity: string; email: string }> {
    const person = await store.read(function* () {
      const state = yield* states.find(passwordLink, code)
      if (!state?.identity || state.useTime !== undefined) return undefined
      const email = yield* loginOf(state.identity)
      return email === undefined ? undefined : { identity: state.identity, email }
    })
    if (!person) throw usedUp()
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
      if (!(yield* states.use(passwordLink, code))) throw usedUp()
      yield* setPassword(identity, hash)
    })
    onSetUp({ identity })
    return readyPage('Your password is set', email)
  }

  const pathOf = (path: string) => prefixOf(authUrl) + path

  function setUpPage(
    code: string,
    {
      organization = '',
      email = '',
      problem: words,
    }: { organization?: string; email?: string; problem?: string } = {},
  ): Answer {
    return {
      title: 'Set up this server',
      status: words === undefined ? 200 : 400,
      body: html`${problem(words)}<p>Make the first organization, and the account of its owner.</p>
<form method="post" action="${pathOf(paths.setUp)}">
<input type="hidden" name="code" value="${code}">
<label for="organization">Name of the organization</label>
<input id="organization" name="organization" value="${organization}" required autofocus placeholder="acme"
  autocapitalize="none" spellcheck="false" autocomplete="organization" aria-describedby="name-rule">
<p class="quiet" id="name-rule">Small letters, digits, spaces, dots, dashes and underscores.</p>
<label for="email">Your e-mail address</label>
<input id="email" name="email" type="email" value="${email}" required autocomplete="username">
${newPassword}
<button>Set up</button>
</form>`,
    }
  }

  function passwordPage(code: string, email: string, words?: string): Answer {
    return {
      title: 'Choose a password',
      status: words === undefined ? 200 : 400,
      body: html`${problem(words)}<p>For <strong>${email}</strong>.</p>
<form method="post" action="${pathOf(paths.password)}">
<input type="hidden" name="code" value="${code}">
<input type="email" name="username" value="${email}" autocomplete="username" hidden readonly>
${newPassword}
<button>Set the password</button>
</form>`,
    }
  }

  const apiFlag = baseUrl === 'http://localhost:8080' ? '' : ` --api ${baseUrl}`

  const readyPage = (title: string, email: string): Answer => ({
    title,
    body: html`<p>Sign in as <strong>${email}</strong> from a terminal:</p>
<p><code>npx stemma auth login${apiFlag}</code></p>`,
  })

  return { showSetUp, setUp, showPassword, choosePassword }
}

const newPassword = html`<label for="password">Choose a password</label>
<input id="password" name="password" type="password" required minlength="12" autocomplete="new-password"
  aria-describedby="password-rule">
<p class="quiet" id="password-rule">At least 12 characters; several words are easy to remember.</p>`
