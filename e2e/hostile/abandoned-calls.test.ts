// If a client disconnects while its call waits, the response does not count as unread.
// Tested on PostgreSQL, where a lock makes a call wait.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import pg from 'pg'
import { depthOf, newChildUid } from '../../server/aip/uid.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { createEntry } from '../../server/resources/create.ts'
import { groups } from '../../server/resources/iam/groups/table.ts'
import { copyGroup } from '../../server/testing/group-copies.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { rawClient } from '../../server/testing/raw-http.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { ociClient } from '../registry/oci-client.ts'

/** Enough for one of the responses, which have about 100 KB each, but not for two. */
const unsentLimits = { perCaller: 130_000, total: 1e9 }
const maxGroupDepth = 32

const waitingCalls = `select 1 from pg_locks
  where not granted and relation = 'role_bindings'::regclass and database =
    (select oid from pg_database where datname = current_database())`

onEachStore('a client that disconnects while its call waits', (engine) => {
  if (engine === 'sqlite') return
  let platform: Platform
  let database: pg.Client

  before(async () => {
    platform = await startPlatform(engine, [], { unsentLimits })
    database = new pg.Client({ connectionString: platform.config.databaseUrl })
    await database.connect()
  })
  after(async () => {
    await database.end()
    await platform.stop()
  })

  /** Sends a request, and disconnects while the call waits for the lock. */
  async function abandon(method: string, path: string, body: string): Promise<void> {
    await database.query('begin; lock table role_bindings in access exclusive mode')
    const client = await rawClient(platform.app.port)
    const head = [
      ...[`${method} ${path} HTTP/1.1`, 'host: x', `authorization: Bearer ${platform.owner.token}`],
      ...['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`],
    ]
    client.send(`${head.join('\r\n')}\r\n\r\n${body}`)
    while ((await database.query(waitingCalls)).rowCount === 0);
    client.socket.resetAndDestroy()
    // When these are answered, the server has noticed the end of the connection.
    for (let times = 0; times < 3; times++) await fetch(`${platform.url}/healthz`)
    await database.query('commit')
  }

  /** Abandons a call and then repeats it, which is refused as long as the first response counts as unread. */
  async function assertReleased(method: string, path: string, body = ''): Promise<void> {
    const headers = {
      authorization: `Bearer ${platform.owner.token}`,
      'content-type': 'application/json',
    }
    await abandon(method, path, body)
    for (let times = 0; times < 2; times++) {
      const response = await fetch(platform.url + path, { method, headers, ...(body && { body }) })
      assert.equal(response.status, 200, await response.text())
    }
  }

  test('does not use up the limit for unread responses in the registry', async () => {
    const client = ociClient(platform.url, platform.owner.token)
    await client.pushImage('acme/web', 'large', 'layer', { annotations: { note: 'x'.repeat(100_000) } })
    await assertReleased('GET', '/v2/acme/web/manifests/large')
  })

  test('does not use up the limit for unread responses of AuthZEN', async () => {
    const uid = await platform.store.write(() => createDeepGroup(platform.owner.organization))
    await copyGroup(platform.store, uid, 200)
    const search = {
      subject: { type: 'identity', id: platform.owner.identity },
      ...{ action: { name: 'groups.list' }, resource: { type: 'group' }, page: { limit: 200 } },
    }
    await assertReleased('POST', '/access/v1/search/resource', JSON.stringify(search))
  })
})

/** Creates groups in groups, down to the deepest level. The uids of deep groups are long, and so are their lists. */
function* createDeepGroup(organization: string) {
  let uid = organization
  while (depthOf(uid) < maxGroupDepth) {
    uid = newChildUid(uid, Date.now(), randomBytes)
    const group = create(GroupSchema, { name: 'deep' })
    yield* createEntry(operatorAccess, groups, group, { uid, now: Date.now() })
  }
  return uid
}
