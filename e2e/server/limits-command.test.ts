// `stemmad limits` and STEMMA_DEFAULT_LIMITS.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { restDoor } from '@stemma/server/testing/doors.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { startPlatform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import { runStemmadInline } from './stemmad.ts'

const { createGroup, getGroup, getGroupUsage } = GroupsService.method

onEachStore('stemmad limits', (engine) => {
  let platform: Platform
  let organization: string
  before(async () => {
    platform = await startPlatform(engine, ['--default-limits', 'groups=2,idps=7'])
    organization = platform.owner.organization
  })
  after(() => platform.stop())

  const limits = (...args: string[]) => {
    const { databaseUrl, dataDir, secretKey } = platform.config
    const store = databaseUrl ? ['--database-url', databaseUrl, '--secret-key', secretKey ?? ''] : []
    return runStemmadInline(['limits', ...args, '--data-dir', dataDir, ...store])
  }
  const call = (...[method, request]: Parameters<ReturnType<typeof restDoor>['call']>) =>
    restDoor(platform.url).call(method, request, platform.owner.token)
  const limitsOf = async (uid: string) => (await call(getGroup, { uid })).body?.resourceLimits

  test('sets, shows and removes limits beside a running server', async () => {
    const set = await limits('set', organization, 'repositories=10', 'role-bindings=5')
    assert.deepEqual([set.code, set.stderr], [0, ''])
    assert.match(set.stdout, /^acme \([0-9a-f]{40}\)\n\nKIND +USED +LIMIT +LIMIT GROUP\n/)
    assert.match(set.stdout, /\nrepos +0 +10 +this group\n/)
    assert.match(set.stdout, /\nrole_bindings +1 +5 +this group\n/)
    assert.match(set.stdout, /\ntags +0 +-\n/)
    assert.deepEqual(await limitsOf(organization), { repos: 10, role_bindings: 5 })
    await limits('set', organization, 'repos=3')
    assert.deepEqual(await limitsOf(organization), { repos: 3, role_bindings: 5 })
    const shown = JSON.parse((await limits('get', organization, '--json')).stdout)
    assert.deepEqual(shown.limits, { repos: 3, role_bindings: 5 })
    assert.deepEqual(shown.kinds.repos, { used: 0, limit: 3, from: organization })
    await limits('unset', organization, 'repos')
    assert.deepEqual(await limitsOf(organization), { role_bindings: 5 })
    await limits('unset', organization, 'all')
    assert.deepEqual(await limitsOf(organization), {})
  })

  test('names what is wrong with its arguments', async () => {
    for (const [args, text] of [
      [
        ['set', organization, 'repo=1'],
        /"repo" is not a kind of resource that can be limited; did you mean repos\?/,
      ],
      [['set', organization, 'repos=-1'], /"repos=-1" is not a name and a whole number/],
      [['set', organization, 'repos=2147483648'], /"repos" must be a whole number from 0 to 2147483647/],
      [['set', organization], /name at least one limit/],
      [['unset', organization], /name the limits to remove/],
      [['unset', organization, 'clusters'], /"clusters" is not one of account_associations, /],
      [['get', 'acme'], /"acme" is not the uid of a group/],
      [['get', 'a'.repeat(40)], /there is no group a{40}/],
      [['set', 'a'.repeat(40), 'repos=1'], /no Group with uid a{40}/],
      [['raise', organization], /^Usage: stemmad limits /],
      [['get', organization, 'repos'], /^Usage: stemmad limits /],
    ] as const) {
      const { code, stderr } = await limits(...args)
      assert.equal(code, 2)
      assert.match(stderr, text)
    }
  })

  test('defaults apply to an organization until it has a limit of its own', async () => {
    const usage = async (kind: string) => {
      const { body } = await call(getGroupUsage, { uid: organization })
      return (body?.kinds as Record<string, unknown>[]).find((entry) => entry.kind === kind)
    }
    const create = () => call(createGroup, { parent: organization, group: { name: 'a' } })
    assert.deepEqual(
      [
        (await usage('groups'))?.limit,
        (await usage('groups'))?.defaultLimit,
        (await usage('identity_providers'))?.limit,
      ],
      [2, true, 7],
    )
    for (const expected of [undefined, undefined, 8]) assert.equal((await create()).error?.code, expected)
    assert.deepEqual(await limitsOf(organization), {})
    await limits('set', organization, 'groups=3')
    for (const expected of [undefined, 8]) assert.equal((await create()).error?.code, expected)
    assert.equal((await usage('groups'))?.defaultLimit, false)
    await limits('unset', organization, 'groups')
    assert.equal((await create()).error?.code, 8)
  })

  test('a server does not start with a default for an unknown kind, and the error names the kind', async () => {
    await assert.rejects(
      startPlatform(engine, ['--default-limits', 'groups=2,clusters=3,repositoris=4']),
      /STEMMA_DEFAULT_LIMITS \(--default-limits\): "clusters" is not a kind .*\n.*"repositoris" is not a kind/s,
    )
  })
})
