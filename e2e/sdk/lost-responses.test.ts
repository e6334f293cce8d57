// Creates whose responses are lost: the SDK and `stemma` repeat them, and they happen once.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createClient } from '@stemma/api'
import { createClient as createJsonClient } from '@stemma/api/json'
import { RolesService as RoleRoutes } from '@stemma/api/json/platform/iam/v2beta1/role'
import { GroupsService } from '@stemma/api/platform/iam/v2beta1/group'
import { sql } from '../../server/store/sql.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { openClient } from '../cli/client.ts'
import type { DroppingProxy } from './dropping-proxy.ts'
import { startDroppingProxy } from './dropping-proxy.ts'

onEachStore('a create whose response is lost', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform(engine)
  })
  after(() => platform.stop())

  async function withProxy(drops: number, run: (proxy: DroppingProxy) => Promise<void>): Promise<void> {
    const proxy = await startDroppingProxy(platform.url, drops)
    try {
      await run(proxy)
      assert.equal(proxy.dropped(), drops)
    } finally {
      proxy.close()
    }
  }

  const uidsOfGroups = async (name: string) =>
    (await platform.store.query(sql`select uid from groups where name = ${name}`)).map(([uid]) => uid)

  test('happens once with the SDK, and the caller gets the new resource', () =>
    withProxy(2, async ({ url }) => {
      const { token, organization: parent } = platform.owner
      const groups = createClient(GroupsService, { baseUrl: url, token })
      let replayedHeader: string | null = null
      const onHeaders = (headers: Headers) => {
        replayedHeader = headers.get('idempotent-replayed')
      }
      const { uid } = await groups.createGroup({ parent, group: { name: 'by-sdk' } }, { onHeaders })
      assert.deepEqual(await uidsOfGroups('by-sdk'), [uid])
      assert.equal(replayedHeader, 'true')
    }))

  test('happens once with the JSON client, for a role, whose name would conflict if the call were executed again', () =>
    withProxy(1, async ({ url }) => {
      const { token, organization: parent } = platform.owner
      const roles = createJsonClient(RoleRoutes, { baseUrl: url, token })
      const role = { name: 'by-json', capabilities: ['CAP_IAM_GROUPS_LIST' as const] }
      assert.equal((await roles.createRole({ parent, role })).name, 'by-json')
    }))

  test('happens once with stemma', () =>
    withProxy(1, async ({ url }) => {
      const client = await openClient('inline')
      try {
        const env = { STEMMA_API: url, STEMMA_TOKEN: platform.owner.token }
        const args = ['groups', 'create', '--parent', 'acme', '--name', 'by-stemma', '-o', 'uid']
        const { code, stdout, stderr } = await client.run(args, '', env)
        assert.equal(code, 0, stderr)
        assert.deepEqual(await uidsOfGroups('by-stemma'), [stdout.trim()])
      } finally {
        await client.remove()
      }
    }))
})
