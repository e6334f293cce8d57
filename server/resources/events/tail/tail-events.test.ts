import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { create, fromBinary } from '@bufbuild/protobuf'
import type {
  TailEventsRequest,
  TailEventsResponse,
} from '@stemma/api/gen/platform/events/v2beta1/event_pb.ts'
import {
  EventsService,
  TailEventsRequestSchema,
  TailEventsResponseSchema,
} from '@stemma/api/gen/platform/events/v2beta1/event_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { parseGrants } from '../../../policy/grants.ts'
import type { Call } from '../../../rpc/call.ts'
import { demandOf } from '../../../rpc/demand.ts'
import { sql } from '../../../store/sql.ts'
import type { Platform } from '../../../testing/platform.ts'
import { startPlatform } from '../../../testing/platform.ts'
import { onEachStore } from '../../../testing/stores.ts'
import type { Envelope } from '../../../wire/envelope.ts'
import { tailEvents } from './tail-events.ts'

onEachStore('a stream of events', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform(engine)
  })
  after(() => platform.stop())

  /** A call of the owner. The event stream reads no other fields of a call. */
  function callUntil(deadline: number): Call<TailEventsRequest> {
    const { identity, organization } = platform.owner
    const request = create(TailEventsRequestSchema, { group: organization, follow: true })
    const caller = { identity, issuedAt: Math.floor(Date.now() / 1000) }
    const options = { parseGrants, now: Date.now, random: randomBytes, defaultLimits: new Map() }
    const method = describeMethod(EventsService.method.tailEvents)
    const demand = demandOf(method, request, caller, {} as Envelope, options)
    return { request, demand, deadline } as Call<TailEventsRequest>
  }

  test('ends a second before its deadline, even if it could wait longer for events', async () => {
    for (const deadline of [1001, 1999, 2000, 2001, 5500]) {
      let now = 0
      const tail = {
        ...{ toJson: () => undefined, isClosed: () => false, heartbeatMs: 15_000, now: () => now },
        async wait(maxMs: number) {
          now += Math.min(maxMs, 1000)
        },
      }
      for await (const _ of tailEvents({ store: platform.store, tail }, callUntil(deadline)));
      assert.equal(deadline - now, 1000)
    }
  })

  test('without follow, ends with an error if the server stops after a heartbeat, before all events are sent', async () => {
    const { organization } = platform.owner
    // More events than are read at once.
    await platform.store.write(function* () {
      yield sql`insert into event_chains (root, sequence, hash, first_sequence, anchor, first_time)
        values (${organization}, 100000, 'hash', 1, '', 0)
        on conflict (root) do update set sequence = 100000`
    })
    for (const [follow, toJson, heartbeatMs] of [
      [false, () => undefined, 0],
      [false, () => '{}', 1],
      [true, () => undefined, 0],
    ] as const) {
      let parts = 0
      // The server stops after the third part.
      const tail = {
        ...{ toJson, isClosed: () => ++parts === 3, heartbeatMs, now: () => 0 },
        wait: () => assert.fail('must not wait'),
      }
      const call = callUntil(1e9)
      Object.assign(call.request, { afterSequence: 0n, follow })
      let last: TailEventsResponse | undefined
      const read = async () => {
        for await (const reply of tailEvents({ store: platform.store, tail }, call))
          last = fromBinary(TailEventsResponseSchema, reply.bytes())
      }
      if (!follow && heartbeatMs === 0)
        await assert.rejects(
          read(),
          /Unavailable: the stream has ended early; continue with `after_sequence` \d+/,
        )
      else await read()
      assert.equal(last !== undefined && last.event === undefined, heartbeatMs === 0)
      assert.equal(parts, 3)
    }
  })

  test('reads nothing more after the call was aborted', async () => {
    const aborting = new AbortController()
    let waits = 0
    const tail = {
      ...{ toJson: () => undefined, isClosed: () => false, heartbeatMs: 15_000, now: () => 0 },
      async wait() {
        if (++waits === 3) aborting.abort()
      },
    }
    const call = { ...callUntil(1e9), signal: aborting.signal }
    for await (const _ of tailEvents({ store: platform.store, tail }, call));
    assert.equal(waits, 3)
  })
})
