// Attacks with idempotency keys: reading keys, requests or responses in the store, the log or the metrics, and getting
// the response of another key.
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { insertOutcome } from '../../server/resources/idempotency/stored-keys.ts'
import { dumpedTables, loadMigrations } from '../../server/store/migrations.ts'
import { sql } from '../../server/store/sql.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { captureLog } from '../server/captured-log.ts'
import { formsOf } from './stored-texts.ts'

const { createGroup } = GroupsService.method
const { createGroupInvite } = GroupInvitesService.method
const { createIdentityProvider } = IdentityProvidersService.method
const { createRepo } = ReposService.method
const roleUid = builtInRole('viewer').uid

onEachStore('idempotency keys under attack', (engine) => {
  let platform: Platform
  let doors: Door[] = []
  const { log, written } = captureLog('trace')
  before(async () => {
    platform = await startPlatform(engine, [], {}, log)
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  const send = (door: Door, method: DescMethod, request: JsonObject, key: string) =>
    door.send(method, request, platform.owner.token, { 'idempotency-key': key })

  /** All rows of the store, the log and the metrics. */
  async function everythingWritten(): Promise<string> {
    const rows: string[] = []
    for await (const { rows: portion } of platform.store.snapshot(dumpedTables(loadMigrations())))
      for (const value of portion.flat())
        rows.push(value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value))
    const metrics = await (await fetch(`${platform.url}/metrics`)).text()
    return [...rows, ...written, metrics].join('\n')
  }

  test('no key, secret of a request or secret of a response is in the store, the log or the metrics', async () => {
    const parent = platform.owner.organization
    for (const door of doors) {
      const key = randomUUID()
      const invite = { parent, groupInvite: { roleUid, ttl: '60s' } }
      const created = await send(door, createGroupInvite, invite, key)
      const code = created.result.body?.code as string
      assert.equal((await send(door, createGroupInvite, invite, `"${key}"`)).result.body?.code, code)
      const clientSecret = randomBytes(16).toString('hex')
      const oidc = { issuer: 'https://issuer.test', clientId: 'c', clientSecret }
      const provider = { parent, identityProvider: { name: 'p', defaultRole: roleUid, oidc } }
      assert.ok((await send(door, createIdentityProvider, provider, key)).result.body)
      const changed = { ...invite, groupInvite: { roleUid, ttl: '61s' } }
      assert.equal((await send(door, createGroupInvite, changed, key)).result.error?.code, 9)
      assert.equal((await send(door, createGroupInvite, invite, `${key} ${key}`)).result.error?.code, 3)
      // The link of an invite contains these bytes as base64url.
      const codeBytes = Buffer.from(code, 'base64')
      const { sec } = JSON.parse(codeBytes.toString()) as { sec: string }
      const text = await everythingWritten()
      for (const form of [key, code, codeBytes, sec, clientSecret].flatMap(formsOf))
        assert.ok(!text.includes(form), form)
    }
  })

  test('a flood of large responses is bounded, and does not push out the keys of others', async () => {
    const parent = platform.owner.organization
    for (const door of doors) {
      const mine = { parent, group: { name: 'mine' } }
      const first = await send(door, createGroup, mine, `${door.name}-kept`)
      const flooder = await platform.addIdentity(parent, 'owner')
      const flood = (at: number) => {
        const repo = {
          name: `${door.name.toLowerCase()}-${at}`,
          activeTags: Array(100).fill('x'.repeat(100)),
        }
        return door.send(createRepo, { parent, repo }, flooder.token, { 'idempotency-key': `flood-${at}` })
      }
      await platform.store.write(function* () {
        for (let at = 0; at < 97; at++) {
          const key = { id: `${door.name} ${at}`, digest: '' }
          yield* insertOutcome(key, flooder.identity, Buffer.alloc(10_000), Date.now())
        }
      })
      for (let at = 0; at < 6; at++) assert.ok((await flood(at)).result.body)
      const rows = await platform.store.query(
        sql`select id from idempotency_keys where caller = ${flooder.identity}`,
      )
      assert.equal(rows.length, 100)
      assert.equal((await flood(5)).header('idempotent-replayed'), 'true')
      assert.deepEqual((await send(door, createGroup, mine, `${door.name}-kept`)).result, first.result)
    }
  })

  test('a response that was copied to the row of another key is not sent', async () => {
    for (const door of doors) {
      const request = (name: string) => ({ parent: platform.owner.organization, group: { name } })
      for (const name of ['mine', 'theirs'])
        await send(door, createGroup, request(name), `${door.name}-${name}`)
      await platform.store.write(function* () {
        yield sql`update idempotency_keys set sealed =
          (select sealed from idempotency_keys order by create_time, id limit 1)`
      })
      const codes = await Promise.all(
        ['mine', 'theirs'].map(async (name) => {
          const { result } = await send(door, createGroup, request(name), `${door.name}-${name}`)
          return result.error?.code
        }),
      )
      assert.deepEqual(codes, [13, 13])
    }
  })
})
