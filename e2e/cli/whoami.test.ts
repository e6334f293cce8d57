// `stemma whoami` against a real server, run in this process.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { newSignIn } from '../../server/auth/sign-outs.ts'
import type { NewToken } from '../../server/auth/tokens/mint.ts'
import { mintToken } from '../../server/auth/tokens/mint.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { Client } from './client.ts'
import { openClient } from './client.ts'

onEachStore('stemma', (engine) => {
  let platform: Platform
  let client: Client
  let group: string
  before(async () => {
    platform = await startPlatform(engine)
    client = await openClient('inline')
    const { stdout } = await run(['groups', 'create', '--parent', 'acme', '--name', 'platform', '-o', 'uid'])
    group = stdout.trim()
  })
  after(async () => {
    await platform.stop()
    await client.remove()
  })

  const run = (args: string[], token = platform.owner.token) =>
    client.run(args, '', { STEMMA_API: platform.url, STEMMA_TOKEN: token })

  const whoami = async (token: string) => {
    const { code, stdout, stderr } = await run(['whoami', '-o', 'json'], token)
    assert.deepEqual([code, stderr], [0, ''])
    return JSON.parse(stdout)
  }

  const mint = (token: Omit<NewToken, 'audience'>) => {
    const { keys, config } = platform
    const deps = { keys, authUrl: config.authUrl, now: Date.now, random: randomBytes }
    return mintToken(deps, { audience: config.baseUrl, ...token })
  }

  const limitedToken = (limits: { scopes?: string[]; capabilities?: string[] }) => {
    const act = { iss: 'https://ci.example.com', sub: 'repo:acme/app', aud: platform.config.baseUrl }
    return mint({ identity: platform.owner.identity, limits, act })
  }

  test('whoami shows identity, organizations, sign-in, token and roles', async () => {
    const { organization, identity } = platform.owner
    const { code, stdout } = await run(['whoami'])
    assert.equal(code, 0)
    const lines = stdout.split('\n').map((line) => line.split(/ {2,}/))
    const fieldOf = (name: string) => lines.find(([first]) => first === name)?.[1]
    assert.equal(fieldOf('uid'), identity)
    assert.equal(fieldOf('organizations'), `acme (${organization})`)
    assert.equal(fieldOf('signed in'), 'not at all: the operator of the server made this token')
    assert.match(fieldOf('token expires') ?? '', /^20\d\d-\S+Z$/)
    assert.deepEqual(lines.slice(-3), [['ROLE', 'GROUP'], ['owner', 'acme'], ['']])
    assert.match(
      (await run(['whoami', '-o', 'wide'])).stdout,
      new RegExp(`\\nowner +acme +${organization}\\n$`),
    )
    assert.equal((await run(['whoami', '-o', 'uid'])).stdout, `${identity}\n`)
  })

  test('whoami tells a person from a workload, and shows nothing that the caller may not see', async () => {
    const person = await platform.addUser('ada@example.com')
    await platform.bind(person.identity, 'viewer', group)
    const shown = await whoami(person.token)
    assert.deepEqual([shown.identity.type, shown.identity.email], ['person', 'ada@example.com'])
    assert.equal(shown.signIn.method, 'server')
    assert.match(shown.signIn.time, /^20\d\d-/)
    // The organization is above the group of the role, so its name is not visible.
    assert.deepEqual(shown.organizations, [{ uid: platform.owner.organization }])
    assert.deepEqual(shown.roles, [{ role: 'viewer', group: { uid: group, path: 'platform' } }])
    const grant = ['role-bindings', 'create', '--parent', group, '--identity', person.identity]
    const made = await run([...grant, '--role', 'editor', '--expire-time', '8h', '-o', 'json'])
    const { expireTime } = JSON.parse(made.stdout)
    const { stdout } = await run(['whoami'], person.token)
    assert.match(stdout, /\nROLE +GROUP +EXPIRES\n/)
    assert.match(stdout, new RegExp(`\\neditor +platform +${expireTime}\\n`))
    assert.match(stdout, /\nviewer +platform +-\n/)
    const stranger = await platform.addIdentity(group)
    const { roles, identity, organizations } = await whoami(stranger.token)
    assert.deepEqual([roles, identity.type, identity.name], [[], 'workload', undefined])
    assert.deepEqual(organizations, [{ uid: platform.owner.organization }])
    assert.match((await run(['whoami'], stranger.token)).stdout, /\nYou have no roles\.\n$/)
  })

  test('whoami shows the limits of a token and the token that was exchanged for it', async () => {
    const token = await limitedToken({ scopes: [group], capabilities: ['groups.list'] })
    const { signIn, token: shown, roles } = await whoami(token)
    assert.deepEqual(signIn, {
      method: 'exchange',
      issuer: 'https://ci.example.com',
      subject: 'repo:acme/app',
    })
    assert.deepEqual(
      [shown.groups, shown.capabilities],
      [[{ uid: group, path: 'platform' }], ['groups.list']],
    )
    assert.deepEqual(roles, [{ capabilities: ['groups.list'], group: { uid: group, path: 'platform' } }])
    const { stdout } = await run(['whoami'], token)
    assert.match(stdout, /signed in +with a token of https:\/\/ci\.example\.com for repo:acme\/app\n/)
    assert.match(stdout, /token limited to capabilities +groups\.list\n/)
  })

  test('whoami distinguishes a sign-in on this server from an identity that was assumed with it', async () => {
    const { identity: person } = await platform.addUser('bea@example.com')
    const { identity: workload } = await platform.addIdentity(group)
    const { authUrl } = platform.config
    const signIn = await newSignIn(platform.store, person, Date.now())
    assert.ok(signIn)
    const act = { iss: authUrl, sub: person, aud: authUrl }
    const time = new Date(signIn.signedInAt * 1000).toISOString()
    const own = await whoami(await mint({ identity: person, act, signIn }))
    assert.deepEqual(own.signIn, { method: 'server', time })
    const assumed = await whoami(await mint({ identity: workload, act, signIn }))
    assert.deepEqual(assumed.signIn, { method: 'exchange', issuer: authUrl, subject: person, time })
  })

  test('whoami reports a missing sign-in, and has help and no arguments', async () => {
    const { code, stderr } = await client.run(['whoami'], '', { STEMMA_API: platform.url })
    assert.deepEqual([code, stderr], [3, 'stemma: not signed in; run: stemma auth login\n'])
    assert.equal((await run(['whoami'], 'no.token.here')).code, 3)
    assert.equal((await run(['whoami', 'ada'])).code, 2)
    for (const args of [
      ['whoami', '--help'],
      ['help', 'whoami'],
    ])
      assert.match((await run(args)).stdout, /\n\nUsage: stemma whoami \[flags\]\n/)
  })
})
