// `docker-credential-stemma` as docker calls it, with a real server.
import assert from 'node:assert/strict'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { decodeJwt } from 'jose'
import { addAccount, startSignInPlatform } from '../sign-in/sign-in.ts'
import type { Client } from './client.ts'
import { openClient } from './client.ts'
import { expiringToken, finishLogin } from './sign-in-steps.ts'

const ada = 'ada@example.com'
const notFound = 'credentials not found in native keychain\n'

describe('docker-credential-stemma', () => {
  let platform: Platform
  let identity: string
  let host: string
  let client: Client
  before(async () => {
    platform = await startSignInPlatform('sqlite')
    identity = await addAccount(platform, ada)
    host = new URL(platform.url).host
  })
  after(() => platform.stop())
  beforeEach(async () => {
    client = await openClient('inline')
  })
  afterEach(() => client.remove())

  const login = (...args: string[]) =>
    finishLogin(platform, client.start(['auth', 'login', '--api', platform.url, ...args]), ada)
  const get = (server: string, env: NodeJS.ProcessEnv = {}) => client.runHelper(['get'], server, env)
  const credentialsFor = async (server: string, env: NodeJS.ProcessEnv = {}) => {
    const { code, stdout, stderr } = await get(server, env)
    assert.equal(code, 0, stdout + stderr)
    return JSON.parse(stdout)
  }
  const expire = async () => {
    await writeFile(join(client.tokenFolder(host), 'oidc-token'), await expiringToken(platform, identity))
    await writeFile(
      join(client.tokenFolder(platform.url), 'oidc-token'),
      await expiringToken(platform, identity),
    )
  }
  const credentials = (username: string, secret: string, server = host) =>
    JSON.stringify({ ServerURL: server, Username: username, Secret: secret })

  test('uses the sign-in to get a token that only the registry accepts, and refreshes it', async () => {
    await login()
    const { ServerURL, Username, Secret } = await credentialsFor(`${host}\n`)
    assert.deepEqual([ServerURL, Username], [host, '_token'])
    assert.deepEqual([decodeJwt(Secret).sub, decodeJwt(Secret).aud], [identity, host])
    assert.equal((await credentialsFor(platform.url)).Secret, Secret)
    const statusOf = async (path: string) =>
      (await fetch(platform.url + path, { headers: { authorization: `Bearer ${Secret}` } })).status
    const paths = ['/v2/', '/iam/v2beta1/groups', `/sts/exchange?aud=${platform.url}`]
    assert.deepEqual(await Promise.all(paths.map(statusOf)), [200, 401, 401])
    await expire()
    const renewed = await credentialsFor(host)
    assert.deepEqual([decodeJwt(renewed.Secret).sub, renewed.Secret === Secret], [identity, false])
  })

  test('finds nothing without a sign-in, for other servers, and after the sign-in has ended', async () => {
    const before = await get(host)
    assert.deepEqual([before.code, before.stdout], [1, notFound])
    await login()
    const port = Number(new URL(platform.url).port)
    for (const server of [
      'index.docker.io',
      `localhost:${port}`,
      `127.0.0.1:${port + 1}`,
      `https://${host}`,
      '::',
      '\x1b[2J',
    ])
      assert.deepEqual((await get(server)).stdout, notFound, server)
    await client.run(['auth', 'logout'])
    assert.equal((await get(host)).stdout, notFound)
  })

  test('gives STEMMA_TOKEN only to the server in STEMMA_API', async () => {
    const env = { STEMMA_API: platform.url, STEMMA_TOKEN: 'from-the-job' }
    assert.equal((await credentialsFor(host, env)).Secret, 'from-the-job')
    const other = await get(host, { ...env, STEMMA_API: 'https://stemma.example.com' })
    assert.deepEqual([other.code, other.stdout], [1, notFound])
  })

  test('needs STEMMA_CONTEXT if several contexts are for the server and none of them is selected', async () => {
    await login('--context', 'one')
    await login('--context', 'two')
    assert.equal((await get(host)).code, 0, 'the current one is used')
    const elsewhere = { STEMMA_API: 'https://stemma.example.com' }
    const ambiguous = await get(host, elsewhere)
    assert.equal(ambiguous.code, 1)
    assert.match(
      ambiguous.stdout,
      /^several contexts are for \S+ \(one, two\); name one of them in STEMMA_CONTEXT\n$/,
    )
    assert.equal((await get(host, { STEMMA_CONTEXT: 'one' })).code, 0)
  })

  test('keeps a docker login until it is erased, readable by its owner only', async () => {
    await login()
    const before = await credentialsFor(host)
    assert.deepEqual(await client.runHelper(['store'], credentials('a-pull-token', 'its secret')), {
      ...{ code: 0, stdout: '', stderr: '' },
    })
    assert.deepEqual(await credentialsFor(host), {
      ServerURL: host,
      Username: 'a-pull-token',
      Secret: 'its secret',
    })
    assert.deepEqual(JSON.parse((await client.runHelper(['list'])).stdout), { [host]: 'a-pull-token' })
    const file = join(client.home, 'cache', 'stemma', 'registry-logins.json')
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    assert.equal((await client.runHelper(['erase'], host)).code, 0)
    assert.equal((await client.runHelper(['erase'], 'unknown.example.com')).code, 0)
    assert.equal((await readFile(file, 'utf8')).trim(), '{}')
    assert.deepEqual(await credentialsFor(host), before, 'the sign-in was not ended')
    assert.deepEqual(JSON.parse((await client.runHelper(['list'])).stdout), { [host]: '_token' })
  })

  test('prefers the sign-in to an access token that docker stored', async () => {
    const token = await platform.tokenOf(identity)
    await client.runHelper(['store'], credentials('_token', token))
    assert.equal((await credentialsFor(host)).Secret, token)
    await client.runHelper(
      ['store'],
      credentials('_token', await platform.tokenOf(identity, Date.now() - 3_700_000)),
    )
    assert.equal((await get(host)).stdout, notFound, 'it has expired')
    await client.runHelper(['store'], credentials('_token', token))
    await login()
    assert.notEqual((await credentialsFor(host)).Secret, token)
  })

  test('refuses bad input without quoting it', async () => {
    const secret = 'do-not-print'
    const cases: [command: string, input: string, message: RegExp][] = [
      ['get', '', /^no credentials server URL$/],
      ['get', ' \n', /^no credentials server URL$/],
      ['get', 'x'.repeat(65_537), /^the input must have at most 65536 bytes$/],
      ['erase', '', /^no credentials server URL$/],
      ['store', `${secret} {`, /^the input must be a JSON object with ServerURL, Username and Secret$/],
      ['store', 'null', /^the input must be a JSON object/],
      ['store', credentials('', secret), /^no credentials username$/],
      ['store', credentials('a', secret, ''), /^no credentials server URL$/],
      ['store', credentials('a', ''), /^no credentials secret$/],
    ]
    for (const [command, input, message] of cases) {
      const { code, stdout, stderr } = await client.runHelper([command], input)
      assert.equal(code, 1, `${command} ${input.slice(0, 40)}`)
      assert.match(stdout.trimEnd(), message)
      assert.ok(!(stdout + stderr).includes(secret))
    }
    for (const args of [[], ['fly'], ['get', 'list'], ['toString']]) {
      const { code, stdout, stderr } = await client.runHelper(args)
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, /^Usage: docker-credential-stemma /m)
    }
  })

  test('refuses a HOME that is not an absolute path', async () => {
    const env = { XDG_CACHE_HOME: '', XDG_CONFIG_HOME: '', HOME: 'here' }
    const { code, stdout } = await client.runHelper(['store'], credentials('a', 'b'), env)
    assert.deepEqual([code, stdout], [1, 'HOME must be an absolute path, not "here"\n'])
  })

  test('runs several times at once', async () => {
    await login()
    await credentialsFor(host)
    await expire()
    const servers = ['a.example.com', 'b.example.com']
    const running = [
      ...[1, 2].map(() => client.startHelper(['get'], host)),
      ...servers.map((server) => client.startHelper(['store'], credentials('a', 'b', server))),
    ]
    const results = await Promise.all(running.map(({ ended }) => ended))
    assert.deepEqual(
      results.map(({ code }) => code),
      [0, 0, 0, 0],
      JSON.stringify(results),
    )
    assert.deepEqual(Object.keys(JSON.parse((await client.runHelper(['list'])).stdout)).sort(), [
      host,
      ...servers,
    ])
  })
})
