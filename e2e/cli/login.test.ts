// `stemma auth` as a person uses it: sign-in with a browser on this or another machine, refresh, and sign-out.
// login-process.test.ts tests how processes end and share tokens.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import { decodeJwt } from 'jose'
import { freePort } from '../../api/testing/free-port.ts'
import { addAccount, password, startSignInPlatform } from '../sign-in/sign-in.ts'
import { Visitor } from '../sign-in/visitor.ts'
import type { Client } from './client.ts'
import { openClient } from './client.ts'
import { addressIn, enterCode, expiringToken, finishLogin, visit } from './sign-in-steps.ts'

const ada = 'ada@example.com'
const bob = 'bob@example.com'

onEachStore('stemma auth login', (engine) => {
  let platform: Platform
  let identity: string
  let client: Client
  before(async () => {
    platform = await startSignInPlatform(engine, [], { devicePollSeconds: 0.1 })
    identity = await addAccount(platform, ada)
    await addAccount(platform, bob)
  })
  after(() => platform.stop())
  beforeEach(async () => {
    client = await openClient('inline')
  })
  afterEach(() => client.remove())

  const api = () => ['--api', platform.url]
  const auth = (...args: string[]) => client.run(['auth', ...args])
  const folder = () => client.tokenFolder(platform.url)
  const startLogin = (...args: string[]) => client.start(['auth', 'login', ...api(), ...args])
  const login = (email = ada) => finishLogin(platform, startLogin(), email)

  const tokenOf = async (...args: string[]) => {
    const { code, stdout, stderr } = await auth('token', ...args)
    assert.equal(code, 0, stderr)
    return stdout.trim()
  }

  const expire = async () => writeFile(join(folder(), 'oidc-token'), await expiringToken(platform, identity))

  /** Tries to use a refresh token, and returns the error code of OAuth. */
  const redeem = async (refresh: string) => {
    const body = { grant_type: 'refresh_token', client_id: 'stemma', refresh_token: refresh }
    const answer = await fetch(`${platform.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams(body),
    })
    return ((await answer.json()) as { error?: string }).error
  }

  test('signs in with a browser', async () => {
    const stderr = await login()
    assert.match(stderr, new RegExp(`\nSigned in to ${platform.url} as ${ada}\\.\n$`))
    const { stdout } = await auth('status')
    assert.match(stdout, /^http\S+\nada@example\.com, token expires in \d+ minutes\n/)
    const { sub, aud } = decodeJwt(await tokenOf())
    assert.deepEqual([sub, aud], [identity, platform.config.baseUrl])
  })

  test('prints no token, and stores tokens in files that only their owner can read', async () => {
    const stderr = await login()
    for (const name of ['oidc-token', 'refresh-token']) {
      const token = await readFile(join(folder(), name), 'utf8')
      assert.ok(token.length > 20 && !stderr.includes(token), name)
      assert.equal((await stat(join(folder(), name))).mode & 0o777, 0o600, name)
    }
    assert.deepEqual((await readdir(folder())).sort(), ['oidc-token', 'refresh-token'])
    for (const path of [folder(), join(folder(), '..')])
      assert.equal((await stat(path)).mode & 0o777, 0o700, path)
  })

  test('refuses the callback of another sign-in and still accepts the right one', async () => {
    const running = startLogin()
    const address = await addressIn(running)
    const right = await visit(platform, address, ada)
    const wrong = new URL(right)
    wrong.searchParams.set('state', 'another')
    assert.equal((await fetch(wrong)).status, 400)
    wrong.searchParams.delete('state')
    assert.equal((await fetch(wrong)).status, 400)
    assert.equal((await fetch(new URL('/else', right))).status, 404)
    assert.equal((await fetch(right, { method: 'POST' })).status, 404)
    assert.deepEqual(await readdir(client.home), [])
    assert.equal((await fetch(right)).status, 200)
    assert.equal((await running.ended).code, 0)
  })

  test('does not sign in with a forged code', async () => {
    const running = startLogin()
    const wrong = new URL(await visit(platform, await addressIn(running), ada))
    wrong.searchParams.set('code', 'forged')
    assert.match(await (await fetch(wrong)).text(), /You are not signed in: /)
    const { code, stderr } = await running.ended
    assert.deepEqual([code, await readdir(client.home)], [3, []], stderr)
  })

  test('prints one line if the sign-in is cancelled', async () => {
    const running = startLogin()
    const visitor = new Visitor(platform.url)
    const page = await visitor.submitTo(await visitor.open(await addressIn(running)), '/cancel')
    assert.match(await (await fetch(page.url)).text(), /You are not signed in: the sign-in was cancelled\./)
    const { code, stderr } = await running.ended
    assert.equal(code, 1)
    assert.match(stderr, /\nstemma: the sign-in was cancelled\n$/)
    assert.deepEqual(await readdir(client.home), [])
  })

  test('signs in with a browser on another machine by a device code', async () => {
    const running = startLogin('--device', '--login-hint', ada)
    const { visitor, page } = await enterCode(platform, running)
    const form = await visitor.submit(page, { confirm: 'yes' })
    assert.equal(form.forms[0]?.fields.email, ada)
    const end = await visitor.submit(form, { email: ada, password })
    assert.equal(end.title, 'Your device is signed in')
    const { code, stdout, stderr } = await running.ended
    assert.deepEqual([code, stdout], [0, ''], stderr)
    assert.match(stderr, new RegExp(`\nSigned in to ${platform.url} as ${ada}\\.\n$`))
    assert.equal(decodeJwt(await tokenOf()).sub, identity)
    await rm(join(folder(), 'oidc-token'))
    assert.equal(decodeJwt(await tokenOf()).sub, identity)
  })

  test('a refused device is not signed in', async () => {
    const running = startLogin('--device')
    const { visitor, page } = await enterCode(platform, running)
    await visitor.submit(page, { abort: 'yes' })
    const { code, stderr } = await running.ended
    assert.equal(code, 1)
    assert.match(stderr, /\nstemma: the sign-in was cancelled\n$/)
  })

  test('refreshes expired and missing tokens', async () => {
    await login()
    const first = await tokenOf()
    assert.equal(await tokenOf(), first)
    await expire()
    const second = await tokenOf()
    await rm(join(folder(), 'oidc-token'))
    const third = await tokenOf()
    assert.equal(new Set([first, second, third]).size, 3)
    for (const token of [second, third]) assert.equal(decodeJwt(token).sub, identity)
  })

  test('prints one line if the sign-in has ended on the server', async () => {
    await login()
    await expire()
    await writeFile(join(folder(), 'refresh-token'), 'unknown token')
    const { code, stderr } = await auth('token')
    assert.deepEqual(
      [code, stderr],
      [3, 'stemma: the sign-in has ended or is not valid; run: stemma auth login\n'],
    )
  })

  test('each audience has its own token, which signing out deletes', async () => {
    await login()
    const { host } = new URL(platform.config.baseUrl)
    const token = await tokenOf('--audience', host)
    const audienceOf = (jwt: string) => [decodeJwt(jwt).aud].flat()
    assert.deepEqual([decodeJwt(token).sub, audienceOf(token)], [identity, [host]])
    assert.equal(await tokenOf('--audience', host), token)
    await rm(client.tokenFolder(host), { recursive: true })
    await expire()
    assert.deepEqual(audienceOf(await tokenOf('--audience', host)), [host])
    await login(bob)
    assert.notEqual(decodeJwt(await tokenOf('--audience', host)).sub, identity)
    const { code, stderr } = await auth('token', '--audience', 'https://elsewhere.example.com')
    assert.equal(code, 2)
    assert.match(stderr, /^stemma: .*aud.*\n$/)
    assert.equal((await auth('logout')).code, 0)
    assert.deepEqual(await readdir(client.tokenFolder(host)), [])
  })

  test('a token whose exchange ends after another sign-in or after signing out is not saved', async () => {
    const { host } = new URL(platform.config.baseUrl)
    for (const interrupt of [() => login(bob), () => auth('logout')]) {
      await login()
      const proxy = createServer(async (request, response) => {
        const { authorization = '', 'content-type': type = '' } = request.headers
        const headers = { authorization, 'content-type': type }
        const body = await text(request)
        const answer = await fetch(`${platform.url}${request.url}`, { method: 'POST', headers, body })
        const content = await answer.text()
        await interrupt()
        response.writeHead(answer.status, { 'content-type': 'application/json' }).end(content)
      })
      await once(proxy.listen(0, '127.0.0.1'), 'listening')
      const issuer = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
      const token = await tokenOf('--audience', host, '--issuer', issuer).finally(() => proxy.close())
      assert.equal(decodeJwt(token).sub, identity)
      assert.deepEqual(await readdir(client.tokenFolder(host)).catch(() => []), [])
    }
  })

  test('signing out ends the sign-in on the server as well', async () => {
    await login()
    const refresh = await readFile(join(folder(), 'refresh-token'), 'utf8')
    const { code, stderr } = await auth('logout')
    assert.deepEqual([code, stderr], [0, `Signed out of ${platform.url}.\n`])
    assert.equal(await redeem(refresh), 'invalid_grant')
    assert.equal((await auth('token')).code, 3)
    assert.deepEqual(await readdir(folder()), [])
  })

  test('signing out deletes the tokens even if the server is unreachable', async () => {
    await login()
    const { code, stderr } = await auth('logout', '--issuer', 'http://127.0.0.1:1')
    assert.equal(code, 0)
    assert.match(
      stderr,
      /^The tokens are removed from this machine, but .*: http:\/\/127\.0\.0\.1:1 cannot be reached: .*\nSigned out/,
    )
    assert.equal((await auth('token')).code, 3)
  })

  test('names the flags that cannot be combined and those that are missing', async () => {
    const identityFlags = ['--identity', identity, '--identity-token', '-']
    const combinations: [string[], RegExp][] = [
      [['--device', ...identityFlags], /--identity and --device/],
      [['--invite', 'x', ...identityFlags], /--identity and --invite/],
      [['--no-browser', ...identityFlags], /--identity and --no-browser/],
      [['--identity', identity], /--identity requires --identity-token/],
      [['--identity-token', '-'], /--identity-token requires --identity/],
      [['--audience', 'x'], /--audience requires --identity/],
    ]
    for (const [flags, message] of combinations) {
      const { code, stderr } = await auth('login', ...api(), ...flags)
      assert.equal(code, 2, stderr)
      assert.match(stderr, message)
    }
    assert.equal((await auth('token', '--device')).code, 2)
  })

  test('prints one line if the server is unreachable, does not support sign-in, or names another issuer', async () => {
    for (const [server, expectedCode, message] of [
      [
        `http://localhost:${await freePort()}`,
        7,
        /^stemma: http:\/\/localhost:\d+ cannot be reached: .*ECONNREFUSED.*\n$/,
      ],
      [`${platform.url}/nowhere`, 1, /^stemma: http\S+\/nowhere does not support sign-in: HTTP 404\n$/],
      [
        platform.url.replace('127.0.0.1', 'localhost'),
        1,
        /^stemma: http:\/\/localhost\S+ names http\S+ as its issuer; .*\n$/,
      ],
    ] as const)
      for (const flags of [[], ['--device']]) {
        const { code, stdout, stderr } = await auth('login', '--api', server, ...flags)
        assert.deepEqual([code, stdout], [expectedCode, ''])
        assert.match(stderr, message)
      }
  })

  test('says that the server is busy, and not that it does not support sign-in', async () => {
    for (const status of [429, 503]) {
      const busy = createServer((_, response) => void response.writeHead(status).end('busy'))
      await once(busy.listen(0, '127.0.0.1'), 'listening')
      const issuer = `http://127.0.0.1:${(busy.address() as AddressInfo).port}`
      const { code, stderr } = await auth('login', '--api', issuer, '--device')
      busy.close()
      const message = `stemma: ${issuer} is busy or has failed: HTTP ${status}; try again later\n`
      assert.deepEqual([code, stderr], [7, message])
    }
  })
})
