// `stemma auth` as a CI job uses it, with a real server and a token of a real issuer.

import assert from 'node:assert/strict'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { decodeJwt } from 'jose'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { ForeignIssuer } from '../sign-in/foreign-issuer.ts'
import { startIssuer } from '../sign-in/foreign-issuer.ts'
import { issueRefreshToken } from '../sign-in/refresh-token.ts'
import type { Client } from './client.ts'
import { openClient } from './client.ts'

onEachStore('stemma auth', (engine) => {
  let issuer: ForeignIssuer
  let platform: Platform
  let client: Client
  let home: string
  let identity: string
  before(async () => {
    issuer = await startIssuer('ES256')
    platform = await startPlatform(engine, ['--trusted-issuers', issuer.issuer])
    client = await openClient('inline')
    home = client.home
    const door = restDoor(platform.url)
    const { organization, token } = platform.owner
    const claimMatch = { issuer: issuer.issuer, subject: 'robot' }
    const made = await door.call(
      IdentitiesService.method.createIdentity,
      { parent: organization, identity: { name: 'ci', claimMatch } },
      token,
    )
    identity = made.body?.uid as string
    const roleBinding = { identityUid: identity, roleUid: builtInRole('viewer').uid }
    await door.call(
      RoleBindingsService.method.createRoleBinding,
      { parent: organization, roleBinding },
      token,
    )
  })
  after(async () => {
    await platform.stop()
    await issuer.close()
    await client.remove()
  })

  const run = (args: string[], input?: string, extraEnv?: NodeJS.ProcessEnv) =>
    client.run(['auth', ...args], input, extraEnv)

  /** The base URL of the platform, http://stemma.test, does not resolve, so its address is given separately. */
  const serverFlags = () => [
    '--api',
    platform.url,
    '--issuer',
    platform.url,
    '--audience',
    'http://stemma.test',
  ]
  const login = async (token: string) =>
    run(['login', ...serverFlags(), '--identity', identity, '--identity-token', '-'], token)

  test('without a sign-in, commands fail with a one-line error', async () => {
    for (const command of ['token', 'status']) {
      const { code, stdout, stderr } = await run([command, ...serverFlags()])
      assert.deepEqual([code, stdout], [3, ''])
      assert.match(stderr, /^stemma: not signed in; run: stemma auth login\n$/)
    }
  })

  test('signs in with a token of another issuer, from a pipe or a file', async () => {
    const { code, stderr } = await login(await issuer.sign())
    assert.equal(code, 0, stderr)
    assert.match(stderr, /^Signed in to http/)
    const { stdout } = await run(['token', '--audience', 'http://stemma.test'])
    assert.equal(decodeJwt(stdout.trim()).sub, identity)
    const file = join(home, 'id-token')
    await writeFile(file, await issuer.sign())
    assert.equal(
      (await run(['login', ...serverFlags(), '--identity', identity, '--identity-token', file])).code,
      0,
    )
    const status = await run(['status', '--audience', 'http://stemma.test'])
    assert.match(
      status.stdout,
      new RegExp(`${identity}, token expires in \\d+ minutes\n {2}viewer in acme \\(`),
    )
  })

  test('token files are readable by their owner only', async () => {
    const folder = join(home, 'cache', 'stemma')
    const [audience = ''] = await readdir(folder)
    assert.equal(audience, 'http:--stemma.test')
    for (const path of [folder, join(folder, audience)]) assert.equal((await stat(path)).mode & 0o777, 0o700)
    for (const name of await readdir(join(folder, audience)))
      assert.equal((await stat(join(folder, audience, name))).mode & 0o777, 0o600, name)
  })

  test('a token that expires soon is refreshed automatically, and the next refresh token is stored', async () => {
    const refreshToken = await issueRefreshToken(platform, identity)
    const folder = join(home, 'cache', 'stemma', 'http:--stemma.test')
    // Tokens are valid for an hour: this one expires in ten seconds, which is too soon to be used.
    await writeFile(join(folder, 'oidc-token'), await platform.tokenOf(identity, Date.now() - 3_590_000))
    await writeFile(join(folder, 'refresh-token'), refreshToken)
    const first = await run(['token', ...serverFlags()])
    assert.equal(decodeJwt(first.stdout.trim()).sub, identity, first.stderr)
    assert.notEqual(await readFile(join(folder, 'refresh-token'), 'utf8'), refreshToken)
    assert.equal((await run(['token', ...serverFlags()])).stdout, first.stdout)
  })

  test('errors are one line with their own exit code', async () => {
    const wrong = await login(await issuer.sign({ sub: 'else' }))
    assert.deepEqual(
      [wrong.code, wrong.stderr],
      [4, 'stemma: Permission denied: no identity can be assumed with this token\n'],
    )
    const forged = await login('a.b.c')
    assert.equal(forged.code, 3)
    for (const args of [
      ['login', '--identity', identity],
      ['fly'],
      ['token', '--nope'],
      ['token', '--api', 'nowhere'],
      ['token', '--context', 'x'],
    ])
      assert.equal((await run(args)).code, 2, args.join(' '))
    const unreachable = await run(
      ['login', '--api', 'http://127.0.0.1:1', '--identity', identity, '--identity-token', '-'],
      'a.b.c',
    )
    assert.equal(unreachable.code, 7)
    assert.match(unreachable.stderr, /cannot be reached/)
    assert.doesNotMatch(unreachable.stderr, /\n {4}at /)
  })

  test('tokens are not sent to another server, and a new sign-in replaces them', async () => {
    const folder = join(home, 'cache', 'stemma', 'http:--stemma.test')
    await writeFile(join(folder, 'refresh-token'), 'somebody else’s')
    await login(await issuer.sign())
    await assert.rejects(readFile(join(folder, 'refresh-token')), /ENOENT/)
    const countsBefore = new Map(issuer.requestCounts)
    await writeFile(join(folder, 'oidc-token'), '')
    await writeFile(join(folder, 'refresh-token'), Buffer.from('{"is":"mine"}').toString('base64'))
    const flags = ['token', '--api', platform.url, '--audience', 'http://stemma.test']
    assert.equal((await run(flags, '', { STEMMA_ISSUER: issuer.issuer })).code, 3)
    assert.deepEqual(issuer.requestCounts, countsBefore)
    for (const audience of ['', '.', '..'])
      assert.equal((await run(['logout', '--audience', audience])).code, 2)
    assert.ok((await readdir(join(home, 'cache'))).includes('stemma'))
  })

  test('signing out deletes the tokens', async () => {
    await login(await issuer.sign())
    assert.equal((await run(['logout', ...serverFlags()])).code, 0)
    assert.equal((await run(['token', ...serverFlags()])).code, 3)
  })
})
