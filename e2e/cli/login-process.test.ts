// `stemma auth` as a process: it ends after a sign-in and on Ctrl-C, and processes share the
// refresh token. One store is enough, because login.test.ts makes the same calls on both, without
// starting processes.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { decodeJwt } from 'jose'
import { addAccount, password, startSignInPlatform } from '../sign-in/sign-in.ts'
import type { Client } from './client.ts'
import { openClient } from './client.ts'
import { addressIn, enterCode, expiringToken, finishLogin } from './sign-in-steps.ts'

const ada = 'ada@example.com'

describe('the process of stemma auth', () => {
  let platform: Platform
  let identity: string
  let client: Client
  before(async () => {
    platform = await startSignInPlatform('sqlite', [], { devicePollSeconds: 0.1 })
    identity = await addAccount(platform, ada)
  })
  after(() => platform.stop())
  beforeEach(async () => {
    client = await openClient('process')
  })
  afterEach(() => client.remove())

  const startLogin = (...args: string[]) =>
    client.startProcess(['auth', 'login', '--api', platform.url, ...args])

  test('ends after a sign-in with a browser', async () => {
    const stderr = await finishLogin(platform, startLogin(), ada)
    assert.match(stderr, new RegExp(`\nSigned in to ${platform.url} as ${ada}\\.\n$`))
  })

  test('ends after a sign-in by a device code', async () => {
    const running = startLogin('--device')
    const { visitor, page } = await enterCode(platform, running)
    await visitor.submit(await visitor.submit(page, { confirm: 'yes' }), { email: ada, password })
    const { code, stderr } = await running.ended
    assert.equal(code, 0, stderr)
  })

  test('passes invite, identity provider and e-mail address to the sign-in page, and ends on Ctrl-C', async () => {
    const flags = ['--invite', 'a code', '--identity-provider', 'example.org', '--login-hint', ada]
    const running = startLogin('--no-browser', ...flags)
    const { searchParams } = new URL(await addressIn(running))
    const passed = ['invite', 'idp_id', 'login_hint'].map((name) => searchParams.get(name))
    assert.deepEqual(passed, ['a code', 'example.org', ada])
    running.stop()
    assert.notEqual((await running.ended).code, 0)
  })

  test('uses the refresh token only once if several processes run at the same time', async () => {
    await finishLogin(platform, startLogin(), ada)
    const expire = async () =>
      writeFile(join(client.tokenFolder(platform.url), 'oidc-token'), await expiringToken(platform, identity))
    await expire()
    const results = await Promise.all(Array.from({ length: 4 }, () => client.run(['auth', 'token'])))
    assert.deepEqual(new Set(results.map(({ code }) => code)), new Set([0]))
    assert.equal(new Set(results.map(({ stdout }) => stdout)).size, 1)
    await expire()
    const { stdout } = await client.run(['auth', 'token'])
    assert.equal(decodeJwt(stdout.trim()).sub, identity)
  })
})
