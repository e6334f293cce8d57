// What is looked for is found, as reading all of it would find it: whether few match or many.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type {
  Advisory,
  ListAdvisoriesRequest,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import {
  AdvisoryEventSchema,
  AdvisorySchema,
  EventTypeFilter,
  ListAdvisoriesRequestSchema,
  ReviewState,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import fc from 'fast-check'
import { operatorAccess } from '../../../policy/system-access.ts'
import { join, sql } from '../../../store/sql.ts'
import type { Platform } from '../../../testing/platform.ts'
import { startPlatform } from '../../../testing/platform.ts'
import { onEachStore } from '../../../testing/stores.ts'
import { messageOf } from '../../kind.ts'
import { latestApproved, typeOf } from '../event-type.ts'
import { importBatch } from './import-batch.ts'
import { importRowsOf } from './import-rows.ts'
import { openSegments } from './postings.ts'
import { reindexAdvisories } from './reindex.ts'
import { search } from './search.ts'
import { advisories } from './table.ts'
import { createAdvisory, reviseAdvisory, withdrawAdvisory } from './write.ts'

const names = ['nginx', 'nginx-light', 'Zlib', 'zlib-ng', 'libssl3', 'a', '100%_sure']
const aliases = ['CVE-2026-1', 'CVE-2026-10', 'GHSA-aaaa-bbbb-cccc', 'cve-2025-99', 'X_1']
const people = ['ada', 'bob', 'Ada']
const word = fc.constantFrom(...names)
const person = fc.constantFrom(...people)

const event = fc
  .record({
    author: person,
    reviewer: fc.constantFrom('', ...people),
    reviewState: fc.constantFrom(ReviewState.PENDING, ReviewState.APPROVED, ReviewState.REJECTED),
    type: fc.constantFrom(
      { case: 'detection', value: { type: { case: 'manual', value: {} } } },
      { case: 'fixed', value: { fixedVersion: '1' } },
      { case: 'patched', value: {} },
    ),
  })
  .map((init) => create(AdvisoryEventSchema, init as MessageInitShape<typeof AdvisoryEventSchema>))

const advisory = fc.record({
  author: person,
  artifactName: word,
  artifactType: fc.constantFrom('apk', 'npm'),
  artifactArchitecture: fc.constantFrom('', 'x86_64'),
  componentName: fc.constantFrom('', ...names),
  componentType: fc.constantFrom('', 'library'),
  componentLocation: fc.constantFrom('', '/usr/lib'),
  aliases: fc.uniqueArray(fc.constantFrom(...aliases), { maxLength: 3 }),
  events: fc.array(event, { maxLength: 4 }),
})

const some = <T>(values: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant<T[]>([]) }, fc.array(values, { minLength: 1, maxLength: 2 }))
const types = fc.constantFrom(EventTypeFilter.DETECTION, EventTypeFilter.FIXED, EventTypeFilter.PATCHED)

const request = fc
  .record({
    artifactNames: some(word),
    artifactTypes: some(fc.constantFrom('apk', 'npm', 'gem')),
    artifactArchitectures: some(fc.constantFrom('x86_64', 'all')),
    componentNames: some(word),
    componentTypes: some(fc.constant('library')),
    componentLocations: some(fc.constant('/usr/lib')),
    aliases: some(fc.constantFrom(...aliases)),
    eventReviewStates: some(fc.constantFrom(ReviewState.PENDING, ReviewState.APPROVED)),
    eventAuthors: some(person),
    excludeEventAuthors: some(person),
    eventReviewers: some(person),
    eventTypes: some(types),
    latestEventType: fc.option(types, { nil: undefined }),
    origin: fc.option(word, { nil: undefined, freq: 8 }),
    query: fc.oneof(
      { weight: 3, arbitrary: fc.constant('') },
      fc.constantFrom('ngi', 'NGINX', 'cve-2026-1', 'lib', 'z', '%_', '100%', 'aaa-bbb', 'nothing', 'x-l'),
    ),
  })
  .map((init) => {
    const { latestEventType, origin, ...rest } = init
    return create(ListAdvisoriesRequestSchema, {
      ...rest,
      ...(latestEventType !== undefined && { latestEventType }),
      ...(origin !== undefined && { origin }),
    })
  })

const meets = (wanted: readonly unknown[], values: readonly unknown[]) =>
  wanted.length === 0 || values.some((value) => wanted.includes(value))

/** By reading all of it. */
function isMatch(one: Advisory, asked: ListAdvisoriesRequest): boolean {
  const latest = latestApproved(one)
  const texts = [one.artifactName, one.componentName, ...one.aliases]
  return (
    (asked.origin === undefined
      ? meets(asked.artifactNames, [one.artifactName])
      : one.artifactName === asked.origin) &&
    meets(asked.artifactTypes, [one.artifactType]) &&
    meets(asked.artifactArchitectures, [one.artifactArchitecture]) &&
    meets(asked.componentNames, [one.componentName]) &&
    meets(asked.componentTypes, [one.componentType]) &&
    meets(asked.componentLocations, [one.componentLocation]) &&
    meets(asked.aliases, one.aliases) &&
    meets(
      asked.eventReviewStates,
      one.events.map(({ reviewState }) => reviewState),
    ) &&
    meets(
      asked.eventAuthors,
      one.events.map(({ author }) => author),
    ) &&
    !one.events.some(({ author }) => asked.excludeEventAuthors.includes(author)) &&
    meets(
      asked.eventReviewers,
      one.events.map(({ reviewer }) => reviewer),
    ) &&
    meets(asked.eventTypes, one.events.map(typeOf)) &&
    (asked.latestEventType === undefined ||
      (latest !== undefined && typeOf(latest) === asked.latestEventType)) &&
    (asked.query === '' || texts.some((text) => text.toLowerCase().includes(asked.query.toLowerCase())))
  )
}

const itemOf = (draft: MessageInitShape<typeof AdvisorySchema>, at: number) => ({
  ...{ source: `test:${at}`, format: 'test', record: '{}', origin: '' },
  ...{ createTime: at, updateTime: at, withdrawTime: undefined },
  draft: create(AdvisorySchema, draft),
})

onEachStore('looking for advisories', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform(engine)
  })
  after(() => platform.stop())

  test('finds what reading all of it would find', async () => {
    const context = { access: operatorAccess, now: Date.now, random: randomBytes }
    const world = fc.record({
      drafts: fc.array(advisory, { minLength: 1, maxLength: 15 }),
      imported: fc.array(advisory, { maxLength: 15 }),
      // So many that their terms are no longer rare in their batch.
      copies: fc.constantFrom(0, 0, 70),
      batches: fc.integer({ min: 1, max: 3 }),
      isIndexedAgain: fc.boolean(),
      changed: fc.array(fc.record({ at: fc.nat(30), to: advisory }), { maxLength: 4 }),
      withdrawn: fc.array(fc.nat(30), { maxLength: 3 }),
      requests: fc.array(request, { minLength: 10, maxLength: 20 }),
    })
    await fc.assert(
      fc.asyncProperty(world, async (told) => {
        const { drafts, copies, batches, isIndexedAgain, changed, withdrawn, requests } = told
        const often = told.imported.slice(0, 1).flatMap((draft) => Array<typeof draft>(copies).fill(draft))
        const imported = [...often, ...told.imported]
        const { organization } = await platform.addOrganization('acme')
        const items = imported.map((draft, at) => importRowsOf(organization, itemOf(draft, at)))
        await platform.store.write(function* () {
          const uids: string[] = []
          for (const draft of drafts) {
            uids.push(yield* createAdvisory(context, organization, create(AdvisorySchema, draft)))
          }
          const nextSegment = openSegments()
          const size = Math.ceil(items.length / batches)
          for (let at = 0; at < items.length; at += size)
            yield* importBatch(
              operatorAccess,
              organization,
              items.slice(at, at + size),
              nextSegment(items[at]?.entry.uid ?? ''),
            )
          uids.unshift(...items.map(({ entry }) => entry.uid))
          for (const { at, to } of changed) {
            const uid = uids[at % uids.length] ?? ''
            yield* reviseAdvisory(
              context,
              uid,
              (one) =>
                void Object.assign(one, create(AdvisorySchema, to), { uid, advisoryId: one.advisoryId }),
            )
          }
          for (const uid of new Set(withdrawn.map((at) => uids[at % uids.length] ?? '')))
            yield* withdrawAdvisory(context, uid)
        })
        if (isIndexedAgain) {
          await platform.store.write(function* () {
            yield sql`delete from advisory_postings`
            yield sql`update advisories set segment = 0`
          })
          await reindexAdvisories(platform.store)
        }
        const rows = await platform.store.query(
          sql`select proto from advisories where root = ${organization}`,
        )
        const all = rows.map(([proto]) => messageOf(advisories, proto as Uint8Array))
        for (const asked of requests) {
          const expected = all.filter((one) => isMatch(one, asked)).map(({ uid }) => uid)
          // Whatever counts as few.
          for (const few of [0, 2, 2000]) {
            const found = await platform.store.read(function* () {
              const { uids, filters } = yield* search(asked, [organization], few)
              const conditions = join([sql`root = ${organization}`, ...filters], ' and ')
              const matching = yield sql`select uid from advisories where ${conditions}`
              return matching.map(([uid]) => uid as string).filter((uid) => !uids || uids.includes(uid))
            })
            assert.deepEqual(found.sort(), [...expected].sort())
          }
        }
      }),
      { numRuns: 25 },
    )
  })
})
