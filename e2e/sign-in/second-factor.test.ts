// Sign-in with a password and a code of an authenticator app, or a recovery code.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { DescMethod } from '@bufbuild/protobuf'
import { AccountService } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { PeopleService } from '@stemma/api/gen/platform/server/v2beta1/person_pb.ts'
import * as oidc from 'openid-client'
import { Code } from '../../server/aip/code.ts'
import { addOperator } from '../../server/auth/administration/operators.ts'
import { secondFactorsOf } from '../../server/auth/second-factors/second-factors.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { sql } from '../../server/store/sql.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { sealedEvents } from '../../server/testing/sealed-events.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { issueRefreshToken } from './refresh-token.ts'
import type { AuthenticatorApp } from './second-factors.ts'
import { addAuthenticatorApp, appOf } from './second-factors.ts'
import { addAccount, begin, password, redeem, relyingParty, signIn, startSignInPlatform } from './sign-in.ts'
import type { Page } from './visitor.ts'
import { Visitor } from './visitor.ts'

const {
  makeRecoveryCodes,
  getAccount,
  beginAuthenticatorApp,
  confirmAuthenticatorApp,
  removeAuthenticatorApp,
  removePasskey,
  changePassword,
} = AccountService.method
const { signOutPerson, resetPersonPassword, resetPersonSecondFactors } = PeopleService.method
const { createGroupInvite } = GroupInvitesService.method
const { exchangeRefreshToken } = SecurityTokenService.method
const wrongCode = 'The code is wrong, or was used before.'
const step = 30_000

onEachStore('a second factor', (engine) => {
  let platform: Platform
  let party: oidc.Configuration
  let rest: Door
  let grpc: Door
  let clockOffset = 0
  const now = () => Date.now() + clockOffset
  before(async () => {
    platform = await startSignInPlatform(engine, [], { now })
    party = await relyingParty(platform.url)
    rest = restDoor(platform.url)
    grpc = grpcDoor(platform.url)
  })
  after(async () => {
    grpc.close()
    await platform.stop()
  })

  /** Adds a person with an authenticator app, and advances the clock to an unused code. */
  async function addPerson(
    email: string,
  ): Promise<{ app: AuthenticatorApp; token: string; identity: string }> {
    const identity = await addAccount(platform, email)
    const { tokens } = await signIn(platform, email)
    const app = await addAuthenticatorApp(rest, tokens.access_token, now())
    clockOffset += step
    return { app, token: tokens.access_token, identity }
  }

  /** Types the password, and returns the page that asks for the code. */
  async function typePassword(email: string, visitor = new Visitor(platform.url)) {
    const begun = await begin(party)
    const first = await visitor.open(begun.url)
    return { visitor, begun, first, page: await visitor.submit(first, { email, password }) }
  }

  const isFinished = (page: Page) => page.url.startsWith('http://127.0.0.1:45678/callback?')

  test('is asked for after the password, and its code works once', async () => {
    const { app, identity } = await addPerson('ada@example.com')
    const code = app.codeAt(now())
    const { visitor, begun, page } = await typePassword('ada@example.com')
    assert.equal(page.title, 'Second factor')
    assert.ok(!page.text.includes(password))
    const end = await visitor.submitTo(page, '/second-factor', {
      code: ` ${code.slice(0, 3)} ${code.slice(3)}`,
    })
    assert.ok(isFinished(end), end.text)
    const tokens = await redeem(party, begun, end)
    assert.equal(tokens.claims()?.sub, identity)
    const signedIn = (await sealedEvents(platform.store, identity)).findLast(
      ({ action }) => action === 'signed-in',
    )
    assert.equal(signedIn?.details, '{"by":"otp"}')

    const again = await typePassword('ada@example.com')
    const replayed = await again.visitor.submitTo(again.page, '/second-factor', { code })
    assert.deepEqual([replayed.status, replayed.alert], [401, wrongCode])
    const earlier = await again.visitor.submitTo(replayed, '/second-factor', {
      code: app.codeAt(now() - step),
    })
    assert.equal(earlier.alert, wrongCode, 'a code from before the last one is refused')
    clockOffset += step
    const next = await again.visitor.submitTo(earlier, '/second-factor', { code: app.codeAt(now()) })
    assert.ok(isFinished(next), next.text)
  })

  test('cannot be skipped', async () => {
    const { app } = await addPerson('bob@example.com')
    const { visitor, begun, first, page } = await typePassword('bob@example.com')
    // The interaction has no result, and begins again with the form.
    assert.equal((await visitor.open(first.url)).title, 'Sign in')
    assert.equal((await visitor.open(begun.url)).title, 'Sign in')
    const resume = first.url.replace('/sign-in/', '/oauth/authorize/')
    assert.ok(!isFinished(await visitor.open(resume)))
    // The sealed state of another sign-in, no state, invalid text and a changed state.
    const other = await typePassword('bob@example.com')
    const [foreign = '', own = ''] = [page, other.page].map(({ forms }) => forms[0]?.fields.pending)
    // A character of the authentication tag, so that only the check of the tag can refuse the state.
    const changed = own.replace(/(?<=^.{20})./, (character) => (character === 'A' ? 'B' : 'A'))
    const code = app.codeAt(now())
    for (const pending of [foreign, '', 'x', changed]) {
      const refused = await other.visitor.submitTo(other.page, '/second-factor', { pending, code })
      assert.ok(!isFinished(refused), 'must not sign in')
      assert.ok(refused.status >= 400)
    }
    const accepted = await other.visitor.submitTo(other.page, '/second-factor', { pending: own, code })
    assert.ok(isFinished(accepted), accepted.text)
    clockOffset += 11 * 60_000
    const late = await visitor.submitTo(page, '/second-factor', { code: app.codeAt(now()) })
    assert.ok(!isFinished(late), 'the password counts for ten minutes')
    // A wrong code shows the page again, but does not extend the ten minutes.
    const slow = await typePassword('bob@example.com')
    clockOffset += 6 * 60_000
    const again = await slow.visitor.submitTo(slow.page, '/second-factor', { code: 'wrong' })
    assert.equal(again.alert, wrongCode)
    clockOffset += 6 * 60_000
    const end = await slow.visitor.submitTo(again, '/second-factor', { code: app.codeAt(now()) })
    assert.ok(!isFinished(end))
  })

  test('does not finish a sign-in from before a change of the password', async () => {
    const email = 'kim@example.com'
    const { app, token } = await addPerson(email)
    const { visitor, page } = await typePassword(email)
    const change = { currentPassword: password, newPassword: 'seven green bicycles at noon' }
    assert.equal((await rest.call(changePassword, change, token)).error, undefined)
    const refused = await visitor.submitTo(page, '/second-factor', { code: app.codeAt(now()) })
    assert.deepEqual([refused.status, isFinished(refused)], [400, false])
  })

  test('can be replaced by a recovery code, which works once', async () => {
    const { token } = await addPerson('cyd@example.com')
    const made = await grpc.call(makeRecoveryCodes, {}, token)
    const codes = made.body?.codes as string[]
    assert.equal(new Set(codes).size, 10)
    const [code = ''] = codes
    assert.match(code, /^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/)
    const { visitor, page } = await typePassword('cyd@example.com')
    assert.ok(isFinished(await visitor.submitTo(page, '/second-factor', { code: code.toUpperCase() })))
    assert.equal((await rest.call(getAccount, {}, token)).body?.recoveryCodesLeft, 9)
    const again = await typePassword('cyd@example.com')
    const refused = await again.visitor.submitTo(again.page, '/second-factor', { code })
    assert.equal(refused.alert, wrongCode)
    await rest.call(makeRecoveryCodes, {}, token)
    const replaced = await again.visitor.submitTo(refused, '/second-factor', { code: codes[1] ?? '' })
    assert.equal(replaced.alert, wrongCode, 'new codes replace earlier ones')
  })

  describe('that an organization requires', () => {
    test('is set up at the next sign-in, and cannot be removed', async () => {
      const { organization, token: ownerToken } = platform.owner
      const identity = await addAccount(platform, 'eve@example.com')
      await platform.bind(identity, 'viewer', organization)
      const update = { group: { uid: organization, name: 'acme', secondFactorRequired: true } }
      const updated = await rest.call(GroupsService.method.updateGroup, update, ownerToken)
      assert.equal(updated.body?.secondFactorRequired, true, updated.error?.message)
      const { visitor, begun, page } = await typePassword('eve@example.com')
      assert.equal(page.title, 'Set up a second factor')
      const secret = /<code>([A-Z2-7 ]+)<\/code>/.exec(page.text)?.[1]?.replaceAll(' ', '') ?? ''
      const refused = await visitor.submitTo(page, '/second-factor', { code: '000000' })
      assert.equal(refused.alert, wrongCode)
      const end = await visitor.submitTo(refused, '/second-factor', { code: appOf(secret).codeAt(now()) })
      assert.ok(isFinished(end), end.text)
      const { access_token: token } = await redeem(party, begun, end)
      const account = (await rest.call(getAccount, {}, token)).body
      assert.deepEqual([account?.authenticatorApp, account?.requiringOrganizations], [true, [organization]])
      for (const door of [rest, grpc])
        assert.match(
          (await door.call(removeAuthenticatorApp, {}, token)).error?.message ?? '',
          /requires a second factor/,
        )
      // A person outside of the organization needs no second factor.
      await addAccount(platform, 'fay@example.com')
      await signIn(platform, 'fay@example.com')
      const disabled = { group: { uid: organization, name: 'acme', secondFactorRequired: false } }
      await rest.call(GroupsService.method.updateGroup, disabled, ownerToken)
      assert.equal((await rest.call(removeAuthenticatorApp, {}, token)).error, undefined)
      await signIn(platform, 'eve@example.com')
    })

    const requireFactor = async (isRequired: boolean) => {
      const group = { uid: platform.owner.organization, name: 'acme', secondFactorRequired: isRequired }
      const { error } = await rest.call(GroupsService.method.updateGroup, { group }, platform.owner.token)
      assert.equal(error, undefined)
    }
    const secretOf = (page: Page) =>
      /<code>([A-Z2-7 ]+)<\/code>/.exec(page.text)?.[1]?.replaceAll(' ', '') ?? ''
    const setUp = (visitor: Visitor, page: Page) => {
      assert.equal(page.title, 'Set up a second factor')
      return visitor.submitTo(page, '/second-factor', { code: appOf(secretOf(page)).codeAt(now()) })
    }
    const consoleToken = async (visitor: Visitor) => {
      const response = await fetch(`${platform.url}/console/token`, {
        method: 'POST',
        headers: {
          'x-stemma-console': '1',
          origin: platform.url,
          cookie: visitor
            .copyCookies()
            .map(({ name, value }) => `${name}=${value}`)
            .join('; '),
        },
      })
      assert.equal(response.status, 200)
      return ((await response.json()) as { token?: string }).token
    }

    test('is not set up by a sign-in that a reset, a change of the password or a sign-out has ended', async () => {
      const operator = await addAccount(platform, 'root@example.com')
      await platform.store.write(() => addOperator(operatorAccess, operator, now()))
      const operatorToken = (await signIn(platform, 'root@example.com')).tokens.access_token
      const asOperator = (method: DescMethod) => (uid: string) => rest.call(method, { uid }, operatorToken)
      const newPassword = 'seven green bicycles at noon'
      const callsThatEndSignIns = {
        changePassword: (_: string, token: string) =>
          rest.call(changePassword, { currentPassword: password, newPassword }, token),
        resetPersonPassword: asOperator(resetPersonPassword),
        resetPersonSecondFactors: asOperator(resetPersonSecondFactors),
        signOutPerson: asOperator(signOutPerson),
      }
      for (const [name, endSignIns] of Object.entries(callsThatEndSignIns)) {
        const email = `${name.toLowerCase()}@example.com`
        const identity = await addAccount(platform, email)
        await platform.bind(identity, 'viewer', platform.owner.organization)
        const { tokens } = await signIn(platform, email)
        await requireFactor(true)
        try {
          const { visitor, page } = await typePassword(email)
          const { error } = await endSignIns(identity, tokens.access_token)
          assert.equal(error, undefined, name)
          const refused = await setUp(visitor, page)
          assert.equal(refused.status, 400, name)
          assert.match(refused.text, /this sign-in has expired/i)
          const factors = await platform.store.read(() => secondFactorsOf(identity))
          assert.equal(factors.hasAuthenticatorApp, false, name)
        } finally {
          await requireFactor(false)
        }
      }
    })

    test('ends earlier sign-ins without one at their next renewal', async () => {
      const email = 'hal@example.com'
      const identity = await addAccount(platform, email)
      await platform.bind(identity, 'viewer', platform.owner.organization)
      const { visitor, tokens } = await signIn(platform, email)
      const publishedClientToken = await issueRefreshToken(platform, identity)
      const browser = new Visitor(platform.url)
      await browser.submit(await browser.open('/console/sign-in'), { email, password })
      assert.ok(await consoleToken(browser))
      await requireFactor(true)
      try {
        assert.equal(await consoleToken(browser), undefined)
        await assert.rejects(oidc.refreshTokenGrant(party, tokens.refresh_token ?? ''), {
          error: 'invalid_grant',
        })
        for (const door of [rest, grpc]) {
          const { error } = await door.call(exchangeRefreshToken, {}, publishedClientToken)
          assert.equal(error?.code, Code.UNAUTHENTICATED)
          assert.match(error.message, /sign in again/)
        }
        // The session of the browser is not enough for another sign-in either.
        const begun = await begin(party)
        const page = await visitor.open(begun.url)
        assert.equal(page.title, 'Sign in')
        const end = await setUp(visitor, await visitor.submit(page, { email, password }))
        const renewed = await redeem(party, begun, end)
        const refreshed = await oidc.refreshTokenGrant(party, renewed.refresh_token ?? '')
        assert.ok(refreshed.access_token)
        assert.equal((await visitor.open((await begin(party)).url)).title, 'Continue?')
      } finally {
        await requireFactor(false)
      }
    })

    test('ends sign-ins made before the person set it up, and keeps those that proved it', async () => {
      const email = 'jan@example.com'
      const identity = await addAccount(platform, email)
      await platform.bind(identity, 'viewer', platform.owner.organization)
      const { visitor: earlier, tokens } = await signIn(platform, email)
      const publishedClientToken = await issueRefreshToken(platform, identity)
      const earlierConsole = new Visitor(platform.url)
      await earlierConsole.submit(await earlierConsole.open('/console/sign-in'), { email, password })
      const app = await addAuthenticatorApp(rest, tokens.access_token, now())
      const typeCode = (visitor: Visitor, page: Page) => {
        clockOffset += step
        return visitor.submitTo(page, '/second-factor', { code: app.codeAt(now()) })
      }
      const browser = new Visitor(platform.url)
      const form = await browser.open('/console/sign-in')
      await typeCode(browser, await browser.submit(form, { email, password }))
      const redirect = 'http://127.0.0.1:45678/callback'
      const program = await browser.open(
        `/oauth?${new URLSearchParams({ exit: 'redirect', redirect, create_refresh_token: 'true' })}`,
      )
      assert.equal(program.title, 'Continue?')
      const issued = new URL((await browser.submitTo(program, '/continue', {})).url).searchParams
      await requireFactor(true)
      try {
        assert.equal(await consoleToken(earlierConsole), undefined)
        await assert.rejects(oidc.refreshTokenGrant(party, tokens.refresh_token ?? ''), {
          error: 'invalid_grant',
        })
        assert.equal(
          (await rest.call(exchangeRefreshToken, {}, publishedClientToken)).error?.code,
          Code.UNAUTHENTICATED,
        )
        assert.ok(await consoleToken(browser))
        let refreshToken = issued.get('refresh_token') ?? ''
        for (const door of [rest, grpc]) {
          const { body, error } = await door.call(exchangeRefreshToken, {}, refreshToken)
          assert.equal(error, undefined)
          refreshToken = (body?.refreshToken as { token: string }).token
        }
        // The session of a browser is continued only if it has proven the second factor.
        assert.equal((await browser.open((await begin(party)).url)).title, 'Continue?')
        const begun = await begin(party)
        const page = await earlier.open(begun.url)
        assert.equal(page.title, 'Sign in')
        const asked = await earlier.submit(page, { email, password })
        assert.equal(asked.title, 'Second factor')
        const renewed = await redeem(party, begun, await typeCode(earlier, asked))
        assert.ok((await oidc.refreshTokenGrant(party, renewed.refresh_token ?? '')).access_token)
      } finally {
        await requireFactor(false)
      }
    })

    test('is asked of people who join by an invite, before they get the role', async () => {
      const { organization, token } = platform.owner
      const invite = async () => {
        const groupInvite = { roleUid: builtInRole('viewer').uid, ttl: '600s', singleUse: true }
        const made = await rest.call(createGroupInvite, { parent: organization, groupInvite }, token)
        return String(made.body?.code)
      }
      const groupsOf = async (identity: string) =>
        await platform.store.query(sql`select parent from role_bindings where identity = ${identity}`)
      const email = 'ida@example.com'
      const identity = await addAccount(platform, email)
      const { visitor } = await signIn(platform, email)
      await requireFactor(true)
      try {
        // A person with an account and a session in the browser.
        const begun = await begin(party, { invite: await invite() })
        const page = await visitor.open(begun.url)
        assert.equal(page.title, 'Sign in')
        const setUpPage = await visitor.submitTo(page, `/${new URL(page.url).pathname.split('/').at(-1)}`, {
          ...{ email, password },
        })
        const otherTab = new Visitor(platform.url)
        const otherForm = await otherTab.open((await begin(party, { invite: await invite() })).url)
        const otherSetUp = await otherTab.submit(otherForm, { email, password })
        assert.equal(otherSetUp.title, 'Set up a second factor')
        assert.deepEqual(await groupsOf(identity), [])
        assert.ok(isFinished(await setUp(visitor, setUpPage)))
        const tooLate = await setUp(otherTab, otherSetUp)
        assert.equal(tooLate.status, 409)
        assert.match(tooLate.alert ?? '', /second factor was added to the account in the meantime; sign in/)
        assert.deepEqual(await groupsOf(identity), [[organization]])

        // A person with a new account, which exists only after the code was right.
        const guest = new Visitor(platform.url)
        const started = await begin(party, { invite: await invite() })
        const chosen = { email: 'new@example.com', password: 'a password for the new account' }
        const asked = await guest.submitTo(await guest.open(started.url), '/account', chosen)
        assert.equal(asked.title, 'Set up a second factor')
        assert.ok(!asked.text.includes(chosen.password))
        const count = async () => (await platform.store.query(sql`select 1 from claimed_accounts`)).length
        const accounts = await count()
        const refused = await guest.submitTo(asked, '/second-factor', { code: '000000' })
        assert.deepEqual([refused.status, refused.alert], [401, wrongCode])
        assert.equal(await count(), accounts)
        // The same form in another browser must not bypass the second factor set up in the first.
        const otherBrowser = new Visitor(platform.url)
        const alsoStarted = await begin(party, { invite: await invite() })
        const alsoForm = await otherBrowser.open(alsoStarted.url)
        const alsoAsked = await otherBrowser.submitTo(alsoForm, '/account', chosen)
        const claims = (await redeem(party, started, await setUp(guest, refused))).claims()
        assert.equal(await count(), accounts + 1)
        const late = await setUp(otherBrowser, alsoAsked)
        assert.equal(late.status, 409)
        assert.match(late.alert ?? '', /second factor was added to the account in the meantime; sign in/)
        assert.deepEqual(await groupsOf(String(claims?.sub)), [[organization]])
        const again = await begin(party)
        const other = new Visitor(platform.url)
        const next = await other.submit(await other.open(again.url), chosen)
        assert.equal(next.title, 'Second factor')
      } finally {
        await requireFactor(false)
      }
    })

    test('can be required only by an organization', async () => {
      const { organization: parent, token } = platform.owner
      const request = { parent, group: { name: 'team', secondFactorRequired: true } }
      const { error } = await grpc.call(GroupsService.method.createGroup, request, token)
      assert.match(error?.message ?? '', /second_factor_required.*organization/)
    })
  })

  test('is changed only within 15 minutes after a sign-in', async () => {
    const { token } = await addPerson('gil@example.com')
    clockOffset += 16 * 60_000
    for (const method of [beginAuthenticatorApp, removeAuthenticatorApp, makeRecoveryCodes]) {
      const { error } = await grpc.call(method, {}, token)
      assert.equal(error?.code, Code.FAILED_PRECONDITION)
      assert.match(error?.message ?? '', /sign-in within the last 15 minutes; sign in again/)
    }
  })

  // Only PostgreSQL repeats a transaction.
  test('is confirmed without counting a failed attempt, even if the transaction is repeated', {
    skip: engine !== 'postgres',
  }, async () => {
    const identity = await addAccount(platform, 'ike@example.com')
    const { tokens } = await signIn(platform, 'ike@example.com')
    const begun = await rest.call(beginAuthenticatorApp, {}, tokens.access_token)
    const code = appOf(String(begun.body?.secret)).codeAt(now())
    const confirm = () => rest.call(confirmAuthenticatorApp, { code }, tokens.access_token)
    const { promise: locked, resolve: markLocked } = Promise.withResolvers<void>()
    const disconnecting = platform.store.write(function* () {
      yield sql`select 1 from authenticator_apps where identity = ${identity} for update`
      markLocked()
      // Closes the connection of the confirmation, once it waits for this lock.
      const closeWaiting = sql`select pg_terminate_backend(pid) from pg_stat_clear_snapshot(), pg_stat_activity
        where datname = current_database() and pg_backend_pid() = any (pg_blocking_pids(pid))`
      while ((yield closeWaiting).length === 0);
    })
    await locked
    const [{ error }] = await Promise.all([confirm(), disconnecting])
    assert.equal(error, undefined)
    for (let attempt = 0; attempt < 10; attempt++)
      assert.equal((await confirm()).error?.code, Code.FAILED_PRECONDITION)
    assert.equal((await confirm()).error?.code, Code.RESOURCE_EXHAUSTED)
  })

  describe('that is changed by concurrent calls', {
    skip: engine === 'sqlite' && 'SQLite runs one write after another',
  }, () => {
    /** Runs calls whose transactions all wait for a lock before they commit. */
    async function callTogether(...calls: (() => ReturnType<Door['call']>)[]) {
      const { promise: locked, resolve: markLocked } = Promise.withResolvers<void>()
      // Excludes the sealing of earlier events, which also waits for the lock.
      const waiting = sql`select pid from pg_stat_activity where datname = current_database()
        and wait_event_type = 'Lock' and query ~ 'insert into unsealed_events|identities|recovery_codes'`
      const locking = platform.store.write(function* () {
        yield sql`lock table unsealed_events in exclusive mode`
        markLocked()
        while ((yield waiting).length < calls.length) yield sql`select pg_stat_clear_snapshot()`
      })
      await locked
      const [, ...results] = await Promise.all([locking, ...calls.map((call) => call())])
      return results
    }

    test('is not removed if it is the last one, and an organization requires one', async () => {
      const { identity, token } = await addPerson('joy@example.com')
      await platform.store.write(function* () {
        yield sql`insert into passkeys (id, identity, name, public_key, counter, transports, is_synced, create_time)
          values ('joy', ${identity}, 'key', ${new Uint8Array([1])}, 0, '', 0, 0)`
      })
      const { organization, token: ownerToken } = platform.owner
      await platform.bind(identity, 'viewer', organization)
      const requireFactor = (secondFactorRequired: boolean) => {
        const group = { uid: organization, name: 'acme', secondFactorRequired }
        return rest.call(GroupsService.method.updateGroup, { group }, ownerToken)
      }
      await requireFactor(true)
      const results = await callTogether(
        () => rest.call(removeAuthenticatorApp, {}, token),
        () => rest.call(removePasskey, { id: 'joy' }, token),
      )
      await requireFactor(false)
      const codes = results.map(({ error }) => error?.code)
      assert.deepEqual(
        codes.filter((code) => code !== undefined),
        [Code.FAILED_PRECONDITION],
      )
    })

    test('has one set of recovery codes', async () => {
      const { identity, token } = await addPerson('una@example.com')
      const make = () => rest.call(makeRecoveryCodes, {}, token)
      const results = await callTogether(make, make)
      assert.deepEqual(
        results.map(({ error }) => error),
        [undefined, undefined],
      )
      const rows = await platform.store.query(
        sql`select digest from recovery_codes where identity = ${identity}`,
      )
      assert.equal(rows.length, 10)
    })
  })

  // This test is the last, because the token of the owner expires in it.
  test('cannot be guessed: ten wrong codes in an hour lock the codes of the account', async () => {
    const { app } = await addPerson('dan@example.com')
    let { visitor, page } = await typePassword('dan@example.com')
    const right = app.codeAt(now())
    const wrong = right === '000000' ? '000001' : '000000'
    for (let attempt = 0; attempt < 10; attempt++) {
      page = await visitor.submitTo(page, '/second-factor', { code: wrong })
      assert.equal(page.status, 401)
    }
    for (const code of [wrong, right]) {
      page = await visitor.submitTo(page, '/second-factor', { code })
      assert.deepEqual([page.status, page.headers.has('retry-after')], [429, true])
    }
    // Typing the password again, in another browser, does not reset the count.
    ;({ visitor, page } = await typePassword('dan@example.com'))
    assert.equal((await visitor.submitTo(page, '/second-factor', { code: right })).status, 429)
    clockOffset += 61 * 60_000
    ;({ visitor, page } = await typePassword('dan@example.com'))
    assert.ok(isFinished(await visitor.submitTo(page, '/second-factor', { code: app.codeAt(now()) })))
  })
})
