// Durable creates: writes that wait together share a commit. Held against one row a commit, which is what
// a single caller gets who waits for each answer; and the same in the store alone, without HTTP around it.
import { randomBytes } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { newChildUid } from '../../server/aip/uid.ts'
import { makeOrganization } from '../../server/commands/bootstrap.ts'
import { readConfig } from '../../server/config/config.ts'
import { createEntry } from '../../server/resources/create.ts'
import { groups } from '../../server/resources/iam/groups/table.ts'
import { openStore, prepareStore } from '../../server/storage.ts'
import type { Store } from '../../server/store/db.ts'
import { measure } from '../load/load.ts'
import { startProcess } from '../load/processes.ts'
import { inTurns, median, ratioOf } from '../load/rounds.ts'
import { short, warmSeconds } from '../report/ratio-line.ts'
import type { Line } from '../report/report.ts'
import type { World } from '../stores/world.ts'
import { startWorld, temporarySettings } from '../stores/world.ts'

const inFlight = 64
const rounds = 5
const seconds = 1
const toReach = 3

export async function benchCreates(): Promise<Line[]> {
  const world = await startWorld(200)
  try {
    const { together, alone } = await createRates(world)
    return [line('Creates, REST, 64 in flight and 1', together, alone), await benchStore()]
  } finally {
    await world.end()
  }
}

/** Creates in a second, with many in flight and with one. */
export async function createRates({ server, group, authorization }: World) {
  const body = JSON.stringify({ name: 'made-by-the-bench', description: 'One of many.' })
  const head = `POST /iam/v2beta1/groups/${group} HTTP/1.1\r\nhost: localhost\r\nauthorization: ${authorization}`
  const request = `${head}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  const load = startProcess('load', 'bench/load/http-load.ts')
  const rateWith = async (some: number) =>
    (await measure(load, server, { request, inFlight: some, seconds })).rate
  try {
    await measure(load, server, { request, inFlight, seconds: warmSeconds })
    const taken = await inTurns(
      rounds,
      () => rateWith(inFlight),
      () => rateWith(1),
    )
    return { together: taken.ours, alone: taken.bound }
  } finally {
    await load.stop()
  }
}

async function benchStore(): Promise<Line> {
  const { settings, remove } = await temporarySettings()
  const { config } = readConfig({}, settings)
  const store = openStore(config)
  try {
    await prepareStore(config, store)
    const { organization } = await makeOrganization(store, config, 'bench', undefined)
    const rateWith = (some: number) => storeRate(store, organization, some)
    await rateWith(inFlight)
    const taken = await inTurns(
      rounds,
      () => rateWith(inFlight),
      () => rateWith(1),
    )
    return line('Creates, the store alone, 64 a commit and 1', taken.ours, taken.bound)
  } finally {
    await store.close()
    await remove()
  }
}

async function storeRate(store: Store, organization: string, together: number): Promise<number> {
  const started = performance.now()
  let made = 0
  while (performance.now() - started < seconds * 1000) {
    await Promise.all(Array.from({ length: together }, () => makeGroup(store, organization)))
    made += together
  }
  return made / ((performance.now() - started) / 1000)
}

function makeGroup(store: Store, organization: string) {
  const draft = create(GroupSchema, { name: 'made-by-the-bench', description: 'One of many.' })
  const now = Date.now()
  return store.write(() =>
    createEntry(groups, draft, { uid: newChildUid(organization, now, randomBytes), now }),
  )
}

function line(what: string, together: number[], alone: number[]): Line {
  const ratio = ratioOf(together, alone)
  return {
    ...{ what, measured: `${short(median(together))}/s`, bound: `${short(median(alone))}/s` },
    ...{ ratio: ratio.toFixed(1), toReach: `${toReach}`, isReached: ratio >= toReach },
  }
}
