// Passkeys in a real Chromium with a virtual authenticator: registering one by the API, and signing in with it. The
// attacks replay and change what the browser has sent.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { AccountService } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import type { Browser, BrowserContext, CDPSession, Page, Request } from 'playwright-core'
import { freePort } from '../../api/testing/free-port.ts'
import { Code } from '../../server/aip/code.ts'
import { claimAddress, hashForUnverifiedAddress } from '../../server/auth/login/claimed-accounts.ts'
import { openPasswords } from '../../server/auth/login/passwords.ts'
import { recordPasskeyUse } from '../../server/auth/second-factors/passkeys.ts'
import { secondFactorsOf } from '../../server/auth/second-factors/second-factors.ts'
import { peopleOf } from '../../server/authentication.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { sql } from '../../server/store/sql.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { passwordCost, startPlatform } from '../../server/testing/platform.ts'
import { recordedEvents } from '../../server/testing/sealed-events.ts'
import type { Engine } from '../../server/testing/stores.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { newBrowserContext, noChromium, openChromium } from './chromium.ts'
import { addAccount, begin, password, relyingParty, signIn } from './sign-in.ts'
import { Visitor } from './visitor.ts'

const { beginPasskey, registerPasskey, renamePasskey, removePasskey, getAccount } = AccountService.method

/** Runs in the browser: makes a passkey, as a page of the console does. */
const createPasskey = `async (optionsJson) => {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(JSON.parse(optionsJson))
  return JSON.stringify((await navigator.credentials.create({ publicKey })).toJSON())
}`

describe('passkeys', { timeout: 300_000, skip: noChromium ?? false }, () => {
  let browser: Browser
  before(async () => {
    browser = await openChromium()
  })
  after(() => browser?.close())

  onEachStore('in a browser', (engine) => {
    let platform: Platform
    let url: string
    let rest: Door
    let grpc: Door
    let context: BrowserContext
    let page: Page
    let devtools: CDPSession
    let authenticatorId: string
    /** Receives the redirects, in place of the program that started the sign-ins. */
    let callback: Server
    let redirectUri: string
    const problems: string[] = []
    before(async () => {
      ;({ platform, url } = await startOnLocalhost(engine))
      rest = restDoor(platform.url)
      grpc = grpcDoor(platform.url)
      context = await newBrowserContext(browser, { javaScriptEnabled: true })
      page = await context.newPage()
      page.on('console', (message) => problems.push(message.text()))
      page.on('pageerror', (error) => problems.push(error.message))
      devtools = await context.newCDPSession(page)
      await devtools.send('WebAuthn.enable')
      ;({ authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
        options: {
          ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true },
          ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
        },
      }))
      callback = createServer((_, response) => response.end('done')).listen(0, '127.0.0.1')
      await once(callback, 'listening')
      redirectUri = `http://127.0.0.1:${(callback.address() as AddressInfo).port}/callback`
    })
    after(async () => {
      await context?.close()
      callback?.close()
      grpc?.close()
      await platform?.stop()
    })

    /** Makes a passkey in the browser, on a page of this server, and registers it. */
    async function addPasskey(token: string, name: string) {
      const { body, error } = await rest.call(beginPasskey, {}, token)
      assert.equal(error, undefined)
      await page.goto(`${url}/healthz`)
      const responseJson = await page.evaluate<string>(
        `(${createPasskey})(${JSON.stringify(body?.optionsJson)})`,
      )
      return { responseJson, registered: await grpc.call(registerPasskey, { name, responseJson }, token) }
    }

    const openSignIn = async () =>
      page.goto((await begin(await relyingParty(url), { redirect_uri: redirectUri })).url)
    const waitForEnd = () => page.waitForURL(`${redirectUri}?**`)
    const press = () => page.getByRole('button', { name: 'Use a passkey' }).click()

    test('are registered once, and sign in without a name and password', async () => {
      const identity = await addAccount(platform, 'ada@example.com')
      const { token } = await signInAt(url, platform, 'ada@example.com')
      const { responseJson, registered } = await addPasskey(token, 'Laptop')
      assert.equal(registered.error, undefined)
      const id = String(registered.body?.id)
      const again = await rest.call(registerPasskey, { name: 'Again', responseJson }, token)
      assert.equal(again.error?.code, Code.FAILED_PRECONDITION, 'the challenge works once')
      const renamed = await rest.call(renamePasskey, { id, name: 'Work laptop' }, token)
      assert.equal(renamed.body?.name, 'Work laptop')

      await openSignIn()
      await press()
      await waitForEnd()
      const account = (await rest.call(getAccount, {}, token)).body
      const [passkey] = account?.passkeys as { id: string; lastUseTime?: string }[]
      assert.deepEqual([account?.uid, passkey?.id], [identity, id])
      assert.ok(passkey?.lastUseTime)

      // The passkey also works as the second factor, after the password.
      await context.clearCookies()
      await openSignIn()
      await page.getByLabel('E-mail address').fill('ada@example.com')
      await page.getByLabel('Password').fill(password)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.getByRole('heading', { name: 'Second factor' }).waitFor()
      await press()
      await waitForEnd()
      assert.deepEqual(problems, [])

      // Nobody else can rename or remove it.
      await addAccount(platform, 'mal@example.com')
      const strangerToken = (await signInAt(url, platform, 'mal@example.com')).token
      assert.equal(
        (await rest.call(renamePasskey, { id, name: 'x' }, strangerToken)).error?.code,
        Code.NOT_FOUND,
      )
      assert.equal((await rest.call(removePasskey, { id }, strangerToken)).error?.code, Code.NOT_FOUND)
      assert.equal((await grpc.call(removePasskey, { id }, token)).error, undefined)
      await context.clearCookies()
      await openSignIn()
      await press()
      await page.getByRole('alert').filter({ hasText: 'cannot be used here' }).waitFor()
    })

    test('are refused if their account has lost its address to an account that the operator added', async () => {
      const deps = { passwords: openPasswords(randomBytes, passwordCost), secret: platform.secret }
      const people = peopleOf({ access: operatorAccess, now: Date.now, random: randomBytes })
      /** Adds an account that claims an address, and its passkey. */
      const addClaimant = async (email: string) => {
        await devtools.send('WebAuthn.clearCredentials', { authenticatorId })
        const passwordHash = await hashForUnverifiedAddress(deps, email, password)
        const claim = { issuer: platform.config.authUrl, email, passwordHash }
        const identity = await platform.store.write(() =>
          claimAddress({ people, random: randomBytes }, claim),
        )
        const { token } = await signInAt(url, platform, email)
        assert.equal((await addPasskey(token, 'Key')).registered.error, undefined)
        return identity
      }
      const assertRefused = async () => {
        await context.clearCookies()
        await openSignIn()
        await press()
        await page.getByRole('alert').filter({ hasText: 'cannot be used here' }).waitFor()
      }

      const claimant = await addClaimant('cyd@example.com')
      assert.notEqual(await addAccount(platform, 'cyd@example.com'), claimant)
      await assertRefused()
      assert.deepEqual(await platform.store.read(() => secondFactorsOf(claimant)), {
        ...{ passkeys: 0, hasAuthenticatorApp: false, recoveryCodes: 0 },
      })

      // Earlier versions stored accounts of invited people in the table `accounts` too, with `is_vouched = 0`.
      const invited = await addAccount(platform, 'eve@example.com')
      await devtools.send('WebAuthn.clearCredentials', { authenticatorId })
      const { token } = await signInAt(url, platform, 'eve@example.com')
      assert.equal((await addPasskey(token, 'Key')).registered.error, undefined)
      await platform.store.write(function* () {
        yield sql`update accounts set is_vouched = 0 where identity = ${invited}`
      })
      assert.equal(await addAccount(platform, 'eve@example.com'), invited)
      await assertRefused()

      // Earlier versions deleted the account, but not its passkeys.
      const earlier = await addClaimant('dan@example.com')
      await platform.store.write(function* () {
        yield sql`delete from claimed_accounts where identity = ${earlier}`
      })
      await assertRefused()
    })

    test('refuse replays, other challenges, changed responses and copies of an authenticator', async () => {
      // Remove the key of the previous test, which the server refuses.
      await devtools.send('WebAuthn.clearCredentials', { authenticatorId })
      const identity = await addAccount(platform, 'bob@example.com')
      const { token } = await signInAt(url, platform, 'bob@example.com')
      const { registered } = await addPasskey(token, 'Key')
      const id = String(registered.body?.id)
      await context.clearCookies()
      // Captures the form in place of sending it. The route must stay until it has aborted the request.
      const captured = Promise.withResolvers<Request>()
      await page.route('**/passkey', async (route) => {
        await route.abort()
        captured.resolve(route.request())
      })
      await openSignIn()
      await press()
      const sent = await captured.promise
      await page.unroute('**/passkey')
      const form = new URLSearchParams(sent.postData() ?? '')
      const action = sent.url()
      const response = form.get('response') ?? ''
      /** Sends a form with the cookies of the browser, and returns the status. */
      const post = async (value: string) => {
        const answer = await context.request.post(action, {
          form: { pending: '', response: value },
          headers: { origin: new URL(url).origin },
          maxRedirects: 0,
        })
        return answer.status()
      }

      // In another interaction of another browser, the challenge is wrong.
      const visitor = new Visitor(url)
      const other = await visitor.open((await begin(await relyingParty(url))).url)
      const refused = await visitor.submitTo(other, '/passkey', { response })
      assert.deepEqual([refused.status, refused.title], [401, 'Sign in'])

      const changed = (change: (parsed: { response: Record<string, string> }) => void) => {
        const parsed = JSON.parse(response)
        change(parsed)
        return JSON.stringify(parsed)
      }
      const withOrigin = (origin: string) =>
        changed(({ response: parts }) => {
          const data = JSON.parse(Buffer.from(parts.clientDataJSON ?? '', 'base64url').toString())
          parts.clientDataJSON = Buffer.from(JSON.stringify({ ...data, origin })).toString('base64url')
        })
      const attacks = [
        ...['', '{}', '[]', 'null', '{"id":5,"response":{}}', '{"id":"x","response":{"userHandle":7}}'],
        withOrigin('https://evil.example'),
        changed(({ response: parts }) => {
          parts.signature = Buffer.from('wrong').toString('base64url')
        }),
        changed(({ response: parts }) => {
          // The digest of another rpId.
          const data = Buffer.from(parts.authenticatorData ?? '', 'base64url')
          parts.authenticatorData = Buffer.concat([Buffer.alloc(32, 7), data.subarray(32)]).toString(
            'base64url',
          )
        }),
        changed(({ response: parts }) => {
          parts.userHandle = Buffer.alloc(20, 1).toString('base64url')
        }),
      ]
      for (const attack of attacks) assert.equal(await post(attack), 401, `attack ${attack.slice(0, 80)}`)

      // Each response that names the passkey is in the log of its owner; the malformed ones are in nobody's.
      const refusals = () =>
        platform.store.query(sql`select root, uid, method, actor, code, details from ${recordedEvents}
          where action = 'refused' and details like '%hwk%' and uid = ${identity}`)
      while ((await refusals()).length < 5) await sleep(50)
      const refusal = [identity, identity, 'sign-in', '', Code.UNAUTHENTICATED, '{"by":"hwk"}']
      assert.deepEqual(await refusals(), Array(5).fill(refusal))

      // A stored counter above that of the response: the response may come from a copy of the authenticator.
      const setCounter = (counter: number) =>
        platform.store.write(function* () {
          yield sql`update passkeys set counter = ${counter} where id = ${id}`
        })
      await setCounter(1_000_000)
      assert.equal(await post(response), 401)
      await setCounter(0)
      assert.equal(await post(response), 303, 'the response itself is valid')
      await setCounter(0)
      assert.notEqual(await post(response), 303, 'and works once')

      const largest = 2 ** 32 - 1
      const use = () => platform.store.write(() => recordPasskeyUse(id, largest, Date.now()))
      assert.deepEqual([await use(), await use()], [true, false])
    })
  })
})

/** Passkeys do not work for IP addresses, so the server is at localhost. */
async function startOnLocalhost(engine: Engine): Promise<{ platform: Platform; url: string }> {
  const port = await freePort()
  const url = `http://localhost:${port}`
  return { platform: await startPlatform(engine, ['--port', String(port), '--base-url', url]), url }
}

async function signInAt(url: string, platform: Platform, email: string): Promise<{ token: string }> {
  const { tokens } = await signIn({ ...platform, url }, email)
  return { token: tokens.access_token }
}
