// The specification on groups, lists, partial updates and errors, as examples: each runs through both doors
// on both stores.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import type { Door } from '../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../server/testing/doors.ts'
import type { Platform } from '../server/testing/platform.ts'
import { onEachStore, startPlatform } from '../server/testing/platform.ts'

const { getGroup, listGroups, createGroup, updateGroup, deleteGroup } = GroupsService.method

onEachStore('groups', (engine) => {
  let platform: Platform
  const doors: Door[] = []
  before(async () => {
    platform = await startPlatform(engine)
    doors.push(restDoor(platform.url), grpcDoor(platform.url))
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  for (const at of [0, 1]) {
    describe(at === 0 ? 'over REST' : 'over gRPC', () => {
      const call = async (
        method:
          | typeof getGroup
          | typeof listGroups
          | typeof createGroup
          | typeof updateGroup
          | typeof deleteGroup,
        request: JsonObject,
      ) => {
        const door = doors[at] as Door
        return door.call(method, request, platform.owner.token)
      }
      test('creates, reads, changes and deletes a group', async () => {
        const { organization } = platform.owner
        const made = await call(createGroup, {
          parent: organization,
          group: { name: 'team-a', description: 'x' },
        })
        assert.ok(made.body)
        const uid = made.body.uid as string
        assert.match(uid, new RegExp(`^${organization}/[0-9a-f]{16}$`))
        const got = await call(getGroup, { uid })
        assert.deepEqual(got.body, made.body)
        const changed = await call(updateGroup, {
          group: { uid, description: 'y' },
          updateMask: 'description',
        })
        assert.equal(changed.body?.description, 'y')
        assert.equal(changed.body?.name, 'team-a')
        const listed = await call(listGroups, { uidp: { descendantsOf: organization }, name: 'team-a' })
        assert.equal(listed.body?.totalCount, '1')
        assert.deepEqual(listed.body?.groups, [changed.body])
        assert.deepEqual(await call(deleteGroup, { uid }), { body: {} })
        assert.equal((await call(getGroup, { uid })).error?.code, 5)
      })
    })
  }
})
