// The real listener and the real doors, REST and gRPC, with a stub in place of the corridor. They serve the groups
// service and one streaming method. By default a call returns a group that is named after the method.
import { randomUUID } from 'node:crypto'
import type { Message } from '@bufbuild/protobuf'
import { create, toBinary } from '@bufbuild/protobuf'
import { GroupSchema, GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { describeMethod, describeMethods } from '@stemma/api/method.ts'
import type { StatusError } from '../aip/errors.ts'
import { clientAddress } from '../http/client-address.ts'
import type { Mount } from '../http/dispatch.ts'
import { dispatch } from '../http/dispatch.ts'
import type { Endpoint } from '../http/door.ts'
import { openGrpcOnDemand } from '../http/grpc/on-demand.ts'
import type { GrpcDoor } from '../http/grpc/server.ts'
import type { ConnectionLimits } from '../http/listen/connection-counter.ts'
import type { Listener } from '../http/listen/listen.ts'
import { listen } from '../http/listen/listen.ts'
import { openPenalties } from '../http/listen/penalties.ts'
import type { TimeoutsMs } from '../http/listen/timeouts.ts'
import { defaultTimeoutsMs } from '../http/listen/timeouts.ts'
import { openRequestIds } from '../http/request-id.ts'
import { openRest } from '../http/rest/rest.ts'
import type { Streams } from '../http/streams.ts'
import { openStreams } from '../http/streams.ts'
import { answerInTurn } from '../http/turns/answer-in-turn.ts'
import { openKnownNetworks } from '../http/turns/known-networks.ts'
import type { Turns } from '../http/turns/turns.ts'
import { openTurns } from '../http/turns/turns.ts'
import type { Corridor, Envelope, StreamCorridor } from '../wire/envelope.ts'
import { writeJson } from '../wire/json-writer.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import { andThen } from '../wire/maybe-promise.ts'
import type { Reply } from '../wire/reply.ts'
import { asJson } from '../wire/reply.ts'
import { testTls } from './tls.ts'

const { exportAdvisoriesOsv } = AdvisoriesService.method
const methods = [...describeMethods(GroupsService), describeMethod(exportAdvisoriesOsv)]
const endpoints = methods.map((method): Endpoint => ({ method }))

export type TestDoorOptions = {
  turns?: Turns
  isTls?: boolean
  hosts?: string[]
  port?: number
  timeoutsMs?: Partial<TimeoutsMs>
  /** How long a client may go on sending a body after its request was rejected. */
  lingerMs?: number
  /** How long a gRPC call may take. */
  maxCallMs?(): number
  /** The clock of the gRPC door and of the check for slow readers. */
  now?(): number
  maxConnections?: ConnectionLimits
  trustedProxies?: string[]
  /** Maximum bytes of unsent small replies over gRPC. */
  maxUnsentSmallReplyBytes?: number
  /** Checks the token of a large or compressed request over gRPC. */
  authenticate?(): MaybePromise<{ identity: string }>
  /** Runs after the request is read and before the reply is sent. */
  act?(call: TestCall): unknown
  /** The documents of the stream; none by default. */
  documents?(call: TestCall): AsyncGenerator<Reply, void, void>
  mounts?: readonly Mount[]
}

export type TestCall = { method: string; envelope: Envelope; request: Message }

export type TestDoor = {
  port: number
  listener: Listener
  grpc: GrpcDoor
  streams: Streams<Endpoint>
  /** Requests that were rejected before the corridor, with the error they got. */
  rejected: { requestId: string; error: StatusError }[]
  drain(): Promise<void>
  close(): void
}

export const errorDomain = 'door.test'

export async function openTestDoor(options: TestDoorOptions = {}): Promise<TestDoor> {
  const settings = { ...defaults(), ...options }
  const { isTls, timeoutsMs, lingerMs, now, turns, maxConnections, hosts, port } = settings
  const rejected: TestDoor['rejected'] = []
  const onRejected = (requestId: string, error: StatusError) => void rejected.push({ requestId, error })
  let isDraining = false
  const streams = openStreams(stubStreamCorridor(settings.documents), Date.now)
  const shared = {
    ...{ endpoints, corridor: stubCorridor(settings.act), streams, errorDomain, onRejected, isHttps: isTls },
    addressOf: clientAddress(settings.trustedProxies),
    requestIds: openRequestIds(randomUUID),
    ...{ findCaller: () => undefined, knownNetworks: openKnownNetworks(), isProxy: () => false, turns, now },
  }
  const { penalty, penaltyPause } = { ...defaultTimeoutsMs, ...timeoutsMs }
  const penalties = openPenalties({
    ...{ mayPenalize: () => true, durationMs: penalty, pauseMs: penaltyPause, now: Date.now },
  })
  const grpc = openGrpcOnDemand({ ...shared, ...grpcOptionsOf(settings), onAbuse: penalties.add })
  const rest = openRest({
    ...shared,
    ...{ baseUrl: 'http://door.test', corsOrigins: ['https://console.test'], lingerMs },
    isDraining: () => isDraining,
  })
  const listener = await listen({
    ...shared,
    ...{ port, hosts, tls: isTls ? testTls : undefined, timeoutsMs, penalties, maxConnections },
    clock: () => performance.now(),
    onRequest: answerInTurn(
      turns,
      shared,
      dispatch({ ...shared, plainPaths, mounts: settings.mounts, rest }),
    ),
    onHttp2: grpc.acceptSocket,
  })
  return {
    port: listener.port,
    ...{ listener, grpc, streams, rejected },
    async drain() {
      isDraining = true
      await Promise.all([listener.drain(), grpc.drain()])
    },
    close() {
      grpc.destroy()
      listener.destroy()
      void listener.drain()
    },
  }
}

const defaults = () => ({
  isTls: false,
  hosts: ['127.0.0.1'],
  port: 0,
  timeoutsMs: {},
  lingerMs: 200,
  now: Date.now,
  maxConnections: { perNetwork: 1000, total: 1000 },
  trustedProxies: [],
  authenticate: () => ({ identity: 'tester' }),
  documents: noDocuments,
  mounts: [],
  turns: openTurns(() => performance.now()),
})

function grpcOptionsOf({
  authenticate,
  maxUnsentSmallReplyBytes,
  maxCallMs,
  timeoutsMs,
}: TestDoorOptions & Required<Pick<TestDoorOptions, 'authenticate' | 'timeoutsMs'>>) {
  const { idle } = timeoutsMs
  return {
    authenticate,
    vendorPrefixes: ['vendor.'],
    onGrpcFailure(error: unknown) {
      throw error
    },
    ...(maxUnsentSmallReplyBytes !== undefined && { maxUnsentSmallReplyBytes }),
    ...(maxCallMs !== undefined && { maxDuration: maxCallMs }),
    ...(idle !== undefined && { streamIdleMs: idle }),
  }
}

const stubCorridor =
  (act: TestDoorOptions['act']): Corridor<Endpoint> =>
  ({ method }, envelope, readRequest) =>
    andThen(readRequest(), (request) =>
      andThen(act?.({ method: method.desc.name, envelope, request }), () => replyOf(method.desc.name)),
    )

const stubStreamCorridor = (documents: Required<TestDoorOptions>['documents']): StreamCorridor<Endpoint> =>
  async function* ({ method }, envelope, readRequest) {
    const request = await readRequest()
    yield* documents({ method: method.desc.name, envelope, request })
  }

const plainPaths = {
  '/healthz': () => ({ status: 200, type: 'text/plain', body: 'ok\n' }),
  '/broken': () => Promise.reject(new Error('broken')),
}

async function* noDocuments(): AsyncGenerator<Reply, void, void> {}

function replyOf(name: string): Reply {
  const group = create(GroupSchema, { name })
  return { json: () => asJson(writeJson(GroupSchema, group)), bytes: () => toBinary(GroupSchema, group) }
}
