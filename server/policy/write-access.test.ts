// The type checker rejects writes that nobody authorized: each `@ts-expect-error` below fails `npm run check` if the
// line under it compiles.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { GroupInviteSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { createEntry } from '../resources/create.ts'
import { removeEntry } from '../resources/delete.ts'
import type { Dependencies } from '../resources/dependencies.ts'
import { groupInvites } from '../resources/iam/group-invites/table.ts'
import { groups } from '../resources/iam/groups/table.ts'
import { replaceResource } from '../resources/stored-resource.ts'
import type { Call } from '../rpc/call.ts'
import type { Entry } from '../store/table.ts'
import { deleteChildren, insertEntries, updateEntry } from '../store/table.ts'
import { admitToRead, admitToWrite } from './admit.ts'

const group = create(GroupSchema)
const entry = { uid: '', now: 0 }
declare const row: Entry

/** Never called. The type checker must accept the first handler, and refuse the marked lines of the others. */
export const handlers = {
  authorized: ({ store }: Dependencies, { demand }: Call) =>
    store.write(function* () {
      const access = yield* admitToWrite(demand)
      yield* createEntry(access, groups, group, entry)
    }),

  forgetsToAdmit: ({ store }: Dependencies) =>
    store.write(function* () {
      // @ts-expect-error no proof
      yield* createEntry(groups, group, entry)
      // @ts-expect-error no proof
      yield* removeEntry(groups, '')
      // @ts-expect-error no proof
      yield* replaceResource(groups, group, { uid: '', updateTime: 0 })
      // @ts-expect-error no proof
      yield* insertEntries(groups.table, [], [])
      // @ts-expect-error no proof
      yield* updateEntry(groups.table, row)
      // @ts-expect-error no proof
      yield* deleteChildren(groups.table, '', { ancestors: [], limit: 1 })
    }),

  admitsToRead: ({ store }: Dependencies, { demand }: Call) =>
    store.write(function* () {
      const grants = yield* admitToRead(demand)
      // @ts-expect-error reading grants does not lock them
      yield* createEntry(grants, groups, group, entry)
    }),

  makesItsOwnProof: ({ store }: Dependencies) =>
    store.write(function* () {
      // @ts-expect-error only server/policy makes proofs
      yield* createEntry({}, groups, group, entry)
    }),

  forgetsAColumn: ({ store }: Dependencies, { demand }: Call) =>
    store.write(function* () {
      const access = yield* admitToWrite(demand)
      const invite = create(GroupInviteSchema)
      // @ts-expect-error the digest is missing
      yield* createEntry(access, groupInvites, invite, entry)
      // @ts-expect-error the digest is text
      yield* createEntry(access, groupInvites, invite, { ...entry, columns: { digest: 1 } })
    }),
}

test('writes without a proof do not compile', () => {
  assert.ok(Object.keys(handlers).length > 0)
})
