// Health, version and keys of the server, for its operators.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { RotateKeysRequest } from '@stemma/api/gen/platform/server/v2beta1/server_pb.ts'
import {
  HealthSchema,
  KeyPurpose,
  KeySchema,
  KeyState,
  ListKeysResponseSchema,
  ServerService,
} from '@stemma/api/gen/platform/server/v2beta1/server_pb.ts'
import { failedPrecondition } from '../aip/errors.ts'
import type { ListedKey } from '../auth/keys/list-keys.ts'
import { listKeys } from '../auth/keys/list-keys.ts'
import { recordRotation, rotateKeys } from '../auth/keys/rotation.ts'
import type { Demand, WriteGrants } from '../policy/admit.ts'
import { admitToRead, admitToWrite } from '../policy/admit.ts'
import { requireFreshSignIn } from '../policy/fresh-sign-in.ts'
import { defineService } from '../resources/resource.ts'
import type { Call } from '../rpc/call.ts'
import type { Work } from '../store/work.ts'
import { emptyReply, messageReply } from '../wire/reply.ts'
import type { OperatorDependencies } from './dependencies.ts'
import { measureHealth, warningsOf } from './health.ts'

export const serverService = defineService({
  service: ServerService,
  methods: (deps: OperatorDependencies) => ({
    async getHealth({ demand }: Call) {
      const measured = await deps.store.read(function* () {
        yield* admitToRead(demand)
        return yield* measureHealth()
      })
      const { facts } = deps.operating
      const freeBytes = await facts.readFreeBytes()
      const health = create(HealthSchema, {
        ...{ version: facts.version, nodeVersion: process.version, workers: facts.workers },
        ...{ startTime: timestampFromMs(facts.startTime), store: deps.store.engine, ...measured.fields },
        contentStorage: facts.contentStorage,
        ...(freeBytes !== undefined && { diskFreeBytes: BigInt(freeBytes) }),
        warnings: warningsOf({ ...measured, freeBytes, now: deps.now() }),
      })
      return messageReply(HealthSchema, health)
    },

    listKeys: ({ demand }: Call) =>
      deps.store.read(function* () {
        yield* admitToRead(demand)
        const keys = (yield* listKeys(deps.now())).map(keyMessage)
        return messageReply(ListKeysResponseSchema, create(ListKeysResponseSchema, { keys }))
      }),

    rotateKeys: (call: Call<RotateKeysRequest>) => rotate(deps, call),
  }),
})

async function rotate(deps: OperatorDependencies, { demand, request, deadline }: Call<RotateKeysRequest>) {
  const { store, now, random, operating, validatesOnly } = deps
  const { revoke: revoked } = request
  // Making keys takes long, so the caller is authorized before that, and again in the transaction that stores them.
  function* admitToRotate(): Work<true> {
    yield* admit(deps, demand)
    if (!revoked) yield* requireNonePending(now())
    return true
  }
  await store.write(admitToRotate, deadline)
  if (!validatesOnly) {
    const record = function* () {
      yield* recordRotation(yield* admit(deps, demand), revoked)
    }
    await rotateKeys({ store, now, random, ...operating }, revoked, record, admitToRotate)
    await operating.keys.reload()
  }
  return emptyReply
}

function* admit({ settings, now }: OperatorDependencies, demand: Demand): Work<WriteGrants> {
  const access = yield* admitToWrite(demand)
  requireFreshSignIn(access.caller, settings.freshSignInMs, now())
  return access
}

/** Bounds how many keys there are: each stays published for hours after its successor has replaced it. */
function* requireNonePending(time: number): Work<void> {
  const pending = (yield* listKeys(time)).find(({ state }) => state === 'pending')
  if (pending)
    throw failedPrecondition(
      'ROTATION_PENDING',
      'new keys were made a short time ago and come into use within ten minutes; set revoke to replace all keys now',
    )
}

const purposes = { sign: KeyPurpose.ACCESS_TOKENS, id: KeyPurpose.TOKENS, page: KeyPurpose.PAGE_TOKENS }
const states = { pending: KeyState.PENDING, active: KeyState.ACTIVE, retired: KeyState.RETIRED }

const keyMessage = ({ kid, purpose, state, createTime, retireTime }: ListedKey) =>
  create(KeySchema, {
    ...{ id: kid, purpose: purposes[purpose], state: states[state], createTime: timestampFromMs(createTime) },
    ...(retireTime !== undefined && { retireTime: timestampFromMs(retireTime) }),
  })
