// Streams the events of a group, and goes on with new ones.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JsonObject } from '@bufbuild/protobuf'
import { create, toBinary } from '@bufbuild/protobuf'
import type { TailEventsRequest } from '@stemma/api/gen/platform/events/v2beta1/event_pb.ts'
import { TailEventsResponseSchema } from '@stemma/api/gen/platform/events/v2beta1/event_pb.ts'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { invalidField, notFound, unavailable } from '../../../aip/errors.ts'
import { rootOf } from '../../../aip/uid.ts'
import { admitToRead } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import type { SealedEvent } from '../../../store/events/event-row.ts'
import type { TailPart } from '../../../store/events/read-tail.ts'
import { readChainEnds, readTail } from '../../../store/events/read-tail.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { asJson } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'

/** For streams that follow the event log. */
export type EventTail = {
  /** The event as a CloudEvent in JSON format. Undefined for a row that is not sent, such as a refused call. */
  toJson(event: SealedEvent): string | undefined
  /**
   * Resolves when there may be new events or the server stops, at the latest after the shorter of
   * `heartbeatMs` and `maxMs`.
   */
  wait(maxMs: number): Promise<void>
  /** Whether the server is stopping. */
  isClosed(): boolean
  /** How often a stream without events sends something. */
  heartbeatMs: number
  /** The clock to compare the deadline of a call with. */
  now(): number
}

export type TailDependencies = Pick<Dependencies, 'store'> & { tail: EventTail }

/**
 * With less time than this until its deadline, the stream ends by itself, so that the client can tell
 * the end from a failure.
 */
const endBeforeMs = 1000

/**
 * Reads each part in a transaction of its own, so that no transaction waits for a client or for events. Grants are read
 * again each time: a caller who loses access gets no further events.
 */
export async function* tailEvents(
  { store, tail }: TailDependencies,
  call: Call<TailEventsRequest>,
): AsyncGenerator<Reply, void, void> {
  const { follow, afterSequence } = call.request
  let after = afterSequence === undefined ? undefined : Number(afterSequence)
  let hasCaughtUp = false
  let sentAt = tail.now()
  let wasHeartbeat = false
  for (;;) {
    const { events, through, isComplete } = await store.read(() => readPart(call, after))
    for (const event of events) {
      const json = tail.toJson(event)
      if (json === undefined) continue
      yield tailReply(event.sequence, json)
      sentAt = tail.now()
      wasHeartbeat = false
    }
    after = through
    const endsAt = call.deadline - endBeforeMs
    const mustEnd = tail.isClosed() || tail.now() >= endsAt
    const isHeartbeatDue = !mustEnd && tail.now() - sentAt >= tail.heartbeatMs
    if ((isComplete && !hasCaughtUp) || isHeartbeatDue) {
      yield tailReply(after)
      sentAt = tail.now()
      wasHeartbeat = true
    }
    hasCaughtUp ||= isComplete
    // Without `follow`, a heartbeat as the last response would look like the end of the events.
    if (mustEnd && !hasCaughtUp && !follow && wasHeartbeat)
      throw unavailable(`the stream has ended early; continue with \`after_sequence\` ${after}`)
    if ((hasCaughtUp && !follow) || mustEnd) return
    if (isComplete) await tail.wait(endsAt - tail.now())
    // The embedded store answers synchronously; this lets other calls run.
    else await nextTurn()
    if (call.signal?.aborted) return
  }
}

type Part = TailPart & { isComplete: boolean }

function* readPart({ demand, request }: Call<TailEventsRequest>, after: number | undefined): Work<Part> {
  yield* admitToRead(demand)
  const { group } = request
  if (!(yield* first(sql`select 1 from groups where uid = ${group}`)))
    throw notFound(GroupSchema.typeName, group)
  const ends = yield* readChainEnds(rootOf(group))
  if (after === undefined) return { events: [], through: ends.last, isComplete: true }
  if (after > ends.last)
    throw invalidField('after_sequence', `must be at most ${ends.last}, the number of the last event`)
  const part = yield* readTail(group, Math.max(after, ends.first - 1), ends.last)
  return { ...part, isComplete: part.through >= ends.last }
}

/** `event` is in the JSON format of CloudEvents; gRPC sends it as a Struct. Absent if only the number is sent. */
const tailReply = (sequence: number, event?: string): Reply => ({
  json: () => asJson(`{${event === undefined ? '' : `"event":${event},`}"sequence":"${sequence}"}`),
  bytes: () =>
    toBinary(
      TailEventsResponseSchema,
      create(TailEventsResponseSchema, {
        sequence: BigInt(sequence),
        ...(event !== undefined && { event: JSON.parse(event) as JsonObject }), // CloudEvents are objects
      }),
    ),
})
