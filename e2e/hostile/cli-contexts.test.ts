// Several sign-ins to one server on one machine: the tokens of one context must never be used for another.
import assert from 'node:assert/strict'
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import { decodeJwt } from 'jose'
import type { Client } from '../cli/client.ts'
import { openClient } from '../cli/client.ts'
import { addAccount, password, startSignInPlatform } from '../sign-in/sign-in.ts'
import { Visitor } from '../sign-in/visitor.ts'

const [ada, bob] = ['ada@example.com', 'bob@example.com']

onEachStore('contexts of stemma', (engine) => {
  let platform: Platform
  const identityOf: Record<string, string> = {}
  let client: Client
  before(async () => {
    platform = await startSignInPlatform(engine)
    for (const email of [ada, bob]) identityOf[email] = await addAccount(platform, email)
  })
  after(() => platform.stop())
  beforeEach(async () => {
    client = await openClient('inline')
  })
  afterEach(() => client.remove())

  const auth = (...args: string[]) => client.run(['auth', ...args])
  const server = () => ['--api', platform.url]

  async function login(email: string, ...flags: string[]): Promise<void> {
    const running = client.start(['auth', 'login', ...server(), ...flags])
    const [, address = ''] = await running.stderrMatch(/Open this address to sign in: (\S+)\n/)
    const visitor = new Visitor(platform.url)
    const page = await visitor.submit(await visitor.open(address), { email, password })
    await (await fetch(page.url)).text()
    const { code, stderr } = await running.ended
    assert.equal(code, 0, stderr)
  }

  async function emailOfToken(...flags: string[]): Promise<string> {
    const { code, stdout, stderr } = await auth('token', ...flags)
    assert.equal(code, 0, stderr)
    const { sub = '' } = decodeJwt(stdout.trim())
    return Object.keys(identityOf).find((email) => identityOf[email] === sub) ?? sub
  }

  const contextFolder = (name: string) => join(client.tokenFolder(platform.url), `context-${name}`)

  test('each keeps its own sign-in to the same server', async () => {
    await login(ada, '--context', 'work')
    await login(bob, '--context', 'home')
    assert.equal(await emailOfToken('--context', 'work'), ada)
    assert.equal(await emailOfToken('--context', 'home'), bob)
    assert.equal(await emailOfToken(), bob, 'the last sign-in is the current context')
    // Without the access tokens, both contexts must refresh them and then exchange them for another audience.
    for (const name of ['work', 'home']) await rm(join(contextFolder(name), 'oidc-token'))
    const { host } = new URL(platform.url)
    assert.equal(await emailOfToken('--context', 'work', '--audience', host), ada)
    assert.equal(await emailOfToken('--context', 'home', '--audience', host), bob)
    assert.equal(await emailOfToken('--context', 'work'), ada)
    assert.equal((await auth('logout', '--context', 'home')).code, 0)
    const { code, stderr } = await auth('token', '--context', 'home')
    assert.deepEqual([code, stderr], [3, 'stemma: not signed in; run: stemma auth login --context home\n'])
    assert.equal(await emailOfToken('--context', 'work'), ada)
    assert.equal(await emailOfToken('--context', 'work', '--audience', host), ada)
  })

  test('a context without a sign-in does not use the token of another context', async () => {
    await login(ada)
    assert.equal(await emailOfToken(), ada)
    const { code, stderr } = await auth('token', ...server(), '--context', 'other')
    assert.deepEqual([code, stderr], [3, 'stemma: not signed in; run: stemma auth login --context other\n'])
  })

  test('the default context stores its tokens in the same layout as published clients', async () => {
    await login(ada)
    const folder = client.tokenFolder(platform.url)
    assert.deepEqual((await readdir(folder)).sort(), ['oidc-token', 'refresh-token'])
    await login(bob, '--context', 'second')
    await writeFile(join(folder, 'oidc-token'), await readFile(join(contextFolder('second'), 'oidc-token')))
    assert.equal(await emailOfToken('--context', 'default'), bob)
  })

  test('a server that is named by its URL is called with the context that was saved for it', async () => {
    await login(ada, '--context', 'work')
    const file = join(client.home, 'config', 'stemma', 'config.json')
    const config = JSON.parse(await readFile(file, 'utf8'))
    const elsewhere = { api: 'http://127.0.0.1:1', issuer: 'http://127.0.0.1:1' }
    config.contexts.elsewhere = elsewhere
    await writeFile(file, JSON.stringify({ ...config, current: 'elsewhere' }))
    assert.equal(await emailOfToken(...server()), ada)
    // Of several contexts for one server, none is chosen silently.
    config.contexts.again = config.contexts.work
    await writeFile(file, JSON.stringify({ ...config, current: 'elsewhere' }))
    assert.equal((await auth('token', ...server())).code, 3)
    assert.equal(await emailOfToken('--context', 'again').catch(() => 'nobody'), 'nobody')
  })

  test('names that differ only in case are separate, and names that could be paths are refused', async () => {
    await login(ada, '--context', 'Work')
    await login(bob, '--context', 'work')
    const folders = (await readdir(client.tokenFolder(platform.url))).map((name) => name.toLowerCase())
    assert.equal(new Set(folders).size, 2)
    assert.deepEqual(
      [await emailOfToken('--context', 'Work'), await emailOfToken('--context', 'work')],
      [ada, bob],
    )
    for (const name of ['', '.', '..', '../x', 'a/b', '__proto__', 'x'.repeat(65)]) {
      const { code, stderr } = await auth('token', ...server(), '--context', name)
      assert.equal(code, 2, stderr)
      assert.match(stderr, /^stemma: --context must be 1 to 64 letters/)
    }
    for (const name of ['constructor', 'oidc-token']) {
      assert.equal((await auth('token', '--context', name)).code, 2)
      assert.equal((await auth('token', ...server(), '--context', name)).code, 3)
    }
  })

  test('a manipulated config cannot point a context at another folder', async () => {
    await login(ada, '--context', 'work')
    const outside = join(client.home, 'outside')
    await mkdir(outside)
    await cp(contextFolder('work'), outside, { recursive: true })
    const file = join(client.home, 'config', 'stemma', 'config.json')
    // The folder is `context-` and the name, so the first `..` is not a segment of its own.
    const name = '../../../../../outside'
    assert.equal(join(client.tokenFolder(platform.url), `context-${name}`), outside)
    const contexts = { [name]: { api: platform.url, issuer: platform.url } }
    await writeFile(file, JSON.stringify({ current: name, contexts }))
    assert.equal((await auth('token')).code, 3)
  })
})
