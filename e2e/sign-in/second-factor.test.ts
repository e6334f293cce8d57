// Sign-in with a password and a code of an authenticator app, or a recovery code.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { AccountService } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import type * as oidc from 'openid-client'
import { Code } from '../../server/aip/code.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { sealedEvents } from '../../server/testing/sealed-events.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { AuthenticatorApp } from './second-factors.ts'
import { addAuthenticatorApp, appOf } from './second-factors.ts'
import { addAccount, begin, password, redeem, relyingParty, signIn, startSignInPlatform } from './sign-in.ts'
import type { Page } from './visitor.ts'
import { Visitor } from './visitor.ts'

const { makeRecoveryCodes, getAccount, beginAuthenticatorApp, removeAuthenticatorApp } = AccountService.method
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

  /** Adds a person with an authenticator app. The next code is one that the confirmation has not used. */
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
    // The sealed state of another sign-in, none, and one that was changed.
    const other = await typePassword('bob@example.com')
    const pending = page.forms[0]?.fields.pending ?? ''
    for (const stolen of [pending, '', 'x', `${pending.slice(0, -2)}AA`]) {
      const refused = await other.visitor.submitTo(other.page, '/second-factor', {
        ...{ pending: stolen, code: app.codeAt(now()) },
      })
      assert.ok(!isFinished(refused), 'must not sign in')
      assert.ok(refused.status >= 400)
    }
    clockOffset += 11 * 60_000
    const late = await visitor.submitTo(page, '/second-factor', { code: app.codeAt(now()) })
    assert.ok(!isFinished(late), 'the password counts for ten minutes')
  })

  test('is replaced by a recovery code, once', async () => {
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

  describe('of an organization that requires one', () => {
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
      // Nobody else is concerned.
      await addAccount(platform, 'fay@example.com')
      await signIn(platform, 'fay@example.com')
      const disabled = { group: { uid: organization, name: 'acme', secondFactorRequired: false } }
      await rest.call(GroupsService.method.updateGroup, disabled, ownerToken)
      assert.equal((await rest.call(removeAuthenticatorApp, {}, token)).error, undefined)
      await signIn(platform, 'eve@example.com')
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

  // The last test, because tokens of earlier ones expire.
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
