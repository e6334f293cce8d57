// `stemma registry` changes docker's configuration, so that docker can log in to the registry.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmod, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { decodeJwt, UnsecuredJWT } from 'jose'
import { addAccount, startSignInPlatform } from '../sign-in/sign-in.ts'
import type { Client } from './client.ts'
import { openClient } from './client.ts'
import { finishLogin } from './sign-in-steps.ts'

const ada = 'ada@example.com'

describe('stemma registry', () => {
  let platform: Platform
  let identity: string
  let host: string
  let client: Client
  /** A folder on the PATH. */
  let programs: string
  let file: string
  before(async () => {
    platform = await startSignInPlatform('sqlite')
    identity = await addAccount(platform, ada)
    host = new URL(platform.url).host
  })
  after(() => platform.stop())
  beforeEach(async () => {
    client = await openClient('inline')
    programs = join(client.home, 'bin')
    file = join(client.home, '.docker', 'config.json')
    await mkdir(programs)
  })
  afterEach(() => client.remove())

  const signIn = () => finishLogin(platform, client.start(['auth', 'login', '--api', platform.url]), ada)
  const registry = (args: string[], env: NodeJS.ProcessEnv = {}) =>
    client.run(['registry', ...args], '', { PATH: `${programs}:/usr/bin:/bin`, ...env })
  const succeed = async (args: string[], env: NodeJS.ProcessEnv = {}) => {
    const { code, stdout, stderr } = await registry(args, env)
    assert.deepEqual([code, stdout], [0, ''], stderr)
    return stderr
  }
  const addProgram = async (name: string, script: string) => {
    await writeFile(join(programs, name), `#!/bin/sh\n${script}\n`)
    await chmod(join(programs, name), 0o755)
  }
  const write = async (content: string, path = file) => {
    await mkdir(join(path, '..'), { recursive: true })
    await writeFile(path, content)
  }
  const read = async (path = file) => JSON.parse(await readFile(path, 'utf8'))
  const loginOf = (auth: string) => Buffer.from(auth, 'base64').toString().split(':') as [string, string]

  test('configure-docker names the helper, and keeps the rest of the file, its mode and the link to it', async () => {
    await addProgram('docker-credential-stemma', 'exit 1')
    await signIn()
    const content = '{ "auths": {"a": {}},\n\n  "psFormat" : "x",\n  "n": 1.50\n}'
    const real = join(client.home, 'dotfiles', 'docker.json')
    await write(content, real)
    await chmod(real, 0o640)
    await mkdir(join(client.home, '.docker'))
    await symlink('../dotfiles/docker.json', file)
    const stderr = await succeed(['configure-docker', '--dry-run'])
    assert.ok(stderr.includes(`would get "credHelpers": { "${host}": "stemma" }`), stderr)
    assert.equal(await readFile(real, 'utf8'), content)
    assert.match(await succeed(['configure-docker']), /now gets its tokens from your sign-in\.\n$/)
    const expected = content.replace('1.50', `1.50,\n  "credHelpers": {\n    "${host}": "stemma"\n  }`)
    assert.equal(await readFile(real, 'utf8'), expected)
    assert.equal((await stat(real)).mode & 0o777, 0o640)
    assert.equal(await readlink(file), '../dotfiles/docker.json')
    const { ino } = await stat(real)
    await succeed(['configure-docker'])
    assert.equal((await stat(real)).ino, ino, 'nothing to change')
    assert.deepEqual(await readdir(join(client.home, 'dotfiles')), ['docker.json'])
    await succeed(['logout'])
    assert.deepEqual(await read(real), { auths: { a: {} }, psFormat: 'x', n: 1.5, credHelpers: {} })
  })

  test('configure-docker creates the file, in DOCKER_CONFIG or where a link points', async () => {
    await addProgram('docker-credential-stemma', 'exit 1')
    const folder = join(client.home, 'elsewhere')
    await mkdir(folder)
    await symlink(join(client.home, 'new.json'), join(folder, 'config.json'))
    const stderr = await succeed(['configure-docker', '--api', platform.url], { DOCKER_CONFIG: folder })
    assert.ok(
      stderr.endsWith(`You are not signed in yet; run: stemma auth login --api ${platform.url}\n`),
      stderr,
    )
    assert.deepEqual(await read(join(client.home, 'new.json')), { credHelpers: { [host]: 'stemma' } })
    assert.equal((await stat(join(client.home, 'new.json'))).mode & 0o777, 0o600)
    const apis = Array.from({ length: 5 }, (_, at) => `https://stemma${at}.example.com`)
    await Promise.all(apis.map((api) => succeed(['configure-docker', '--api', api])))
    assert.equal(
      Object.keys((await read()).credHelpers).length,
      5,
      'the file has the hosts of all concurrent commands',
    )
  })

  test('configure-docker is refused if docker could not start the helper', async () => {
    const { code, stderr } = await registry(['configure-docker'])
    assert.equal(code, 2)
    assert.match(
      stderr,
      /^stemma: docker could not start docker-credential-stemma, because it is not on the PATH; install /,
    )
    await assert.rejects(stat(file))
  })

  test('login stores a token for the registry, and says when it expires', async () => {
    const before = await registry(['login', '--api', platform.url])
    assert.deepEqual([before.code, before.stderr], [3, 'stemma: not signed in; run: stemma auth login\n'])
    await signIn()
    const stderr = await succeed(['login'])
    assert.match(
      stderr,
      /^Stored a token for \S+ in \S+\/\.docker\/config\.json\. It expires in (59|60) minutes\.\n/,
    )
    const { auths } = await read()
    const [user, token] = loginOf(auths[host].auth)
    assert.deepEqual([user, decodeJwt(token).sub, decodeJwt(token).aud], ['_token', identity, host])
    assert.ok(!stderr.includes(token))
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    await chmod(file, 0o644)
    const authfile = join(client.home, 'auth.json')
    await succeed(['login', '--authfile', authfile])
    assert.equal(loginOf((await read(authfile)).auths[host].auth)[0], '_token')
    assert.match(await succeed(['login']), /warning: other users may read \S+; run: chmod 600 /)
    assert.match(await succeed(['logout']), /^Removed \S+ from \S+\. The sign-in is kept; /)
    assert.deepEqual(await read(), { auths: {} })
  })

  test('login says if a token of the environment has expired or is about to', async () => {
    const expiries = {
      ' It has expired already.': Date.now() - 1000,
      ' It expires in less than a minute.': Date.now() + 59_000,
      ' It is not known when it expires.': undefined,
    }
    for (const [message, expiry] of Object.entries(expiries)) {
      const payload = expiry === undefined ? {} : { exp: Math.floor(expiry / 1000) }
      const STEMMA_TOKEN = new UnsecuredJWT(payload).encode()
      const stderr = await succeed(['login', '--api', platform.url], { STEMMA_TOKEN })
      assert.ok(stderr.split('\n')[0]?.endsWith(message), stderr)
    }
  })

  test('login and logout use the helper that docker is configured with', async () => {
    await signIn()
    const calls = join(client.home, 'calls')
    await addProgram('docker-credential-keys', `{ echo "$1"; cat; echo; } >> ${calls}`)
    await addProgram('docker-credential-broken', 'echo locked; exit 1')
    await write('{"credsStore": "keys"}')
    await succeed(['login'])
    assert.deepEqual(await read(), { credsStore: 'keys', auths: { [host]: {} } })
    const [command, input = ''] = (await readFile(calls, 'utf8')).split('\n')
    const { ServerURL, Username, Secret } = JSON.parse(input)
    assert.deepEqual(
      [command, ServerURL, Username, decodeJwt(Secret).sub],
      ['store', host, '_token', identity],
    )
    await succeed(['logout'])
    assert.ok((await readFile(calls, 'utf8')).endsWith(`erase\n${host}\n`))
    await write(JSON.stringify({ credsStore: 'keys', credHelpers: { [host]: '' } }))
    await succeed(['login'])
    assert.equal(loginOf((await read()).auths[host].auth)[0], '_token', 'this host has no helper')
    await write(JSON.stringify({ credsStore: 'keys', credHelpers: { [host]: 'stemma' } }))
    assert.match(
      await succeed(['login']),
      /names docker-credential-stemma for \S+ already: no login is needed\.\n$/,
    )
    for (const [helper, message] of [
      ['broken', /which failed: locked\n$/],
      ['missing', /which failed: it is not on the PATH\n$/],
      ['../x', /"\.\.\/x" is not the name of a credential helper\n$/],
    ] as const) {
      await write(JSON.stringify({ credHelpers: { [host]: helper } }))
      const { code, stderr } = await registry(['login'])
      assert.equal(code, 1)
      assert.match(stderr, message)
    }
  })

  test('configure-docker creates a pull token, and prints or stores its login', async () => {
    const owner = { STEMMA_API: platform.url, STEMMA_TOKEN: platform.owner.token }
    const create = (...args: string[]) => registry(['configure-docker', '--pull-token', ...args], owner)
    const printed = await create('--parent', 'acme', '--ttl', '2d')
    assert.equal(printed.code, 0, printed.stderr)
    const [, user = '', secret = ''] =
      /^docker login "\S+" --username "(\S+)" --password "(\S+)"\n$/.exec(printed.stdout) ?? []
    const authorization = `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`
    const pull = () => fetch(`${platform.url}/v2/`, { headers: { authorization } })
    assert.equal((await pull()).status, 200, printed.stdout)
    await assert.rejects(stat(file), 'only --save changes the file')
    const saved = await create('--parent', 'acme', '--name', 'cluster', '--save')
    assert.deepEqual([saved.code, saved.stdout], [0, ''], saved.stderr)
    const [savedUser, savedSecret] = loginOf((await read()).auths[host].auth)
    assert.ok(!saved.stderr.includes(savedSecret))
    assert.match(saved.stderr, new RegExp(`To revoke it: stemma pull-tokens delete ${savedUser}\n$`))
    assert.match(
      (await create('--parent', 'acme', '--dry-run')).stderr,
      /^Would create a pull token in acme\.\n$/,
    )
    const names = (await client.run(['pull-tokens', 'list', '-o', 'json'], '', owner)).stdout
    // Tokens that are created within 0.1 seconds are listed in any order.
    assert.deepEqual(
      JSON.parse(names)
        .map(({ name }: { name: string }) => name.replace(/[\d-]{10}$/, 'DATE'))
        .sort(),
      ['cluster', 'pull-token-DATE'],
    )
    await write(JSON.stringify({ credHelpers: { [host]: 'stemma' } }))
    assert.equal((await create('--parent', 'acme', '--save')).code, 0)
    assert.equal(JSON.parse((await client.runHelper(['get'], host)).stdout).Username.length, user.length)
    for (const [args, message] of [
      [['--pull-token'], /--pull-token requires --parent GROUP/],
      [['--pull-token', '--parent', 'acme', '--ttl', '400d'], /^stemma: --ttl: /],
      [['--ttl', '2d'], /--ttl requires --pull-token/],
    ] as const) {
      const { code, stderr } = await registry(['configure-docker', ...args], owner)
      assert.equal(code, 2, stderr)
      assert.match(stderr, message)
    }
    await client.run(['pull-tokens', 'delete', user, '--yes'], '', owner)
    assert.equal((await pull()).status, 401)
  })

  test('configure-docker prints no command with text of the server that a shell would interpret', async () => {
    const server = createServer((_, response) => {
      const answer = {
        uid: 'a',
        username: 'a$(id)',
        password: 'secret',
        expirationTime: '2030-01-01T00:00:00Z',
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const { code, stdout, stderr } = await registry(
        ['configure-docker', '--pull-token', '--parent', 'a'.repeat(40)],
        { STEMMA_API: api, STEMMA_TOKEN: platform.owner.token },
      )
      assert.deepEqual([code, stdout], [1, ''], stderr)
      assert.match(stderr, /^stemma: the server sent a user name or a password that is not safe to print/m)
      assert.match(stderr, /^The pull token expires at .* To revoke it: stemma pull-tokens delete a$/m)
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  test('a file that docker could not read is reported and not changed', async () => {
    await addProgram('docker-credential-stemma', 'exit 1')
    for (const [content, message] of [
      ['{"auths": {"a": {"auth": "secret"}', /is not valid JSON; correct or remove it/],
      ['[]', /must contain a JSON object/],
      ['{"credHelpers": "x"}', /^stemma: credHelpers in \S+ must be an object/],
    ] as const) {
      await write(content)
      const { code, stderr } = await registry(['configure-docker'])
      assert.equal(code, 2)
      assert.match(stderr, message)
      assert.ok(!stderr.includes('secret'))
      assert.equal(await readFile(file, 'utf8'), content)
    }
    for (const args of [['fly'], ['login', '--nope'], ['login', 'x']])
      assert.equal((await registry(args)).code, 2)
    assert.match((await registry(['login', '--help'])).stdout, /^Usage: stemma registry COMMAND/)
  })
})
