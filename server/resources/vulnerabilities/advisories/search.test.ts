// Compares searches with a naive implementation, for requests that match few advisories and many.
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
import { openSegments } from '../../../store/postings/numbering.ts'
import { join, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { Platform } from '../../../testing/platform.ts'
import { startPlatform } from '../../../testing/platform.ts'
import { onEachStore } from '../../../testing/stores.ts'
import { messageOf } from '../../kind.ts'
import { latestApproved, typeOf } from '../event-type.ts'
import { importBatch } from './import-batch.ts'
import { importRowsOf } from './import-rows.ts'
import { reindexAdvisories } from './reindex.ts'
import type { SearchLimits } from './search.ts'
import { search } from './search.ts'
import { advisories } from './table.ts'
import { createAdvisory, reviseAdvisory, withdrawAdvisory } from './write.ts'

const names = ['nginx', 'nginx-light', 'Zlib', 'zlib-ng', 'libssl3', 'a', '100%_sure']
const aliases = ['CVE-2026-1', 'CVE-2026-10', 'GHSA-aaaa-bbbb-cccc', 'cve-2025-99', 'X_1']
const people = ['ada', 'bob', 'Ada']
const name = fc.constantFrom(...names)
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
      { case: 'componentLocationChanged', value: {} },
    ),
  })
  .map((init) => create(AdvisoryEventSchema, init as MessageInitShape<typeof AdvisoryEventSchema>))

const advisory = fc.record({
  author: person,
  artifactName: name,
  artifactType: fc.constantFrom('apk', 'npm'),
  artifactArchitecture: fc.constantFrom('', 'x86_64'),
  componentName: fc.constantFrom('', ...names),
  componentType: fc.constantFrom('', 'library'),
  componentLocation: fc.constantFrom('', '/usr/lib'),
  aliases: fc.uniqueArray(fc.constantFrom(...aliases), { maxLength: 3 }),
  events: fc.array(event, { maxLength: 4 }),
})

const usuallyNone = <T>(values: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant<T[]>([]) }, fc.array(values, { minLength: 1, maxLength: 2 }))
const types = fc.constantFrom(EventTypeFilter.DETECTION, EventTypeFilter.FIXED, EventTypeFilter.PATCHED)

const request = fc
  .record({
    artifactNames: usuallyNone(name),
    artifactTypes: usuallyNone(fc.constantFrom('apk', 'npm', 'gem')),
    artifactArchitectures: usuallyNone(fc.constantFrom('x86_64', 'all')),
    componentNames: usuallyNone(name),
    componentTypes: usuallyNone(fc.constant('library')),
    componentLocations: usuallyNone(fc.constant('/usr/lib')),
    aliases: usuallyNone(fc.constantFrom(...aliases)),
    eventReviewStates: usuallyNone(fc.constantFrom(ReviewState.PENDING, ReviewState.APPROVED)),
    eventAuthors: usuallyNone(person),
    excludeEventAuthors: usuallyNone(person),
    eventReviewers: usuallyNone(person),
    eventTypes: usuallyNone(types),
    latestEventType: fc.option(types, { nil: undefined }),
    origin: fc.option(name, { nil: undefined, freq: 8 }),
    query: fc.oneof(
      { weight: 3, arbitrary: fc.constant('') },
      fc.constantFrom('ngi', 'NGINX', 'cve-2026-1', 'lib', 'z', '%_', '100%', 'aaa-bbb', 'nothing', 'x-l'),
    ),
  })
  .map((init) => {
    const { latestEventType, origin, ...filters } = init
    return create(ListAdvisoriesRequestSchema, {
      ...filters,
      ...(latestEventType !== undefined && { latestEventType }),
      ...(origin !== undefined && { origin }),
    })
  })

const hasAny = (wanted: readonly unknown[], values: readonly unknown[]) =>
  wanted.length === 0 || values.some((value) => wanted.includes(value))

/** The naive implementation. */
function isMatch(candidate: Advisory, query: ListAdvisoriesRequest): boolean {
  const { events } = candidate
  const latest = latestApproved(candidate)
  const texts = [candidate.artifactName, candidate.componentName, ...candidate.aliases]
  const states = events.map(({ reviewState }) => reviewState)
  const authors = events.map(({ author }) => author)
  const reviewers = events.map(({ reviewer }) => reviewer)
  return (
    (query.origin === undefined
      ? hasAny(query.artifactNames, [candidate.artifactName])
      : candidate.artifactName === query.origin) &&
    hasAny(query.artifactTypes, [candidate.artifactType]) &&
    hasAny(query.artifactArchitectures, [candidate.artifactArchitecture]) &&
    hasAny(query.componentNames, [candidate.componentName]) &&
    hasAny(query.componentTypes, [candidate.componentType]) &&
    hasAny(query.componentLocations, [candidate.componentLocation]) &&
    hasAny(query.aliases, candidate.aliases) &&
    hasAny(query.eventReviewStates, states) &&
    hasAny(query.eventAuthors, authors) &&
    !authors.some((author) => query.excludeEventAuthors.includes(author)) &&
    hasAny(query.eventReviewers, reviewers) &&
    hasAny(query.eventTypes, events.map(typeOf)) &&
    (query.latestEventType === undefined ||
      (latest !== undefined && typeOf(latest) === query.latestEventType)) &&
    (query.query === '' || texts.some((text) => text.toLowerCase().includes(query.query.toLowerCase())))
  )
}

const anyHistory = fc.record({
  created: fc.array(advisory, { minLength: 1, maxLength: 15 }),
  imported: fc.array(advisory, { maxLength: 15 }),
  /** The number of copies of the first imported advisory. With 70, its terms are not rare in a batch (postings.ts). */
  copies: fc.constantFrom(0, 0, 70),
  batches: fc.integer({ min: 1, max: 3 }),
  changed: fc.array(fc.record({ at: fc.nat(30), to: advisory }), { maxLength: 4 }),
  withdrawn: fc.array(fc.nat(30), { maxLength: 3 }),
  isReindexed: fc.boolean(),
})

type History = typeof anyHistory extends fc.Arbitrary<infer T> ? T : never
type Draft = MessageInitShape<typeof AdvisorySchema>

const importItemOf = (draft: Draft, at: number) => ({
  ...{ source: `test:${at}`, format: 'test', record: '{}', origin: '' },
  ...{ createTime: at, updateTime: at, withdrawTime: undefined },
  draft: create(AdvisorySchema, draft),
})

const context = { access: operatorAccess, now: Date.now, random: randomBytes }

function* write(organization: string, history: History): Work<void> {
  const { created, imported, copies, batches, changed, withdrawn } = history
  const uids: string[] = []
  for (const draft of created)
    uids.push(yield* createAdvisory(context, organization, create(AdvisorySchema, draft)))
  const copied = imported.slice(0, 1).flatMap((draft) => Array<Draft>(copies).fill(draft))
  uids.unshift(...(yield* importAll(organization, [...copied, ...imported], batches)))
  const uidAt = (at: number) => uids[at % uids.length] ?? ''
  for (const { at, to } of changed) {
    const uid = uidAt(at)
    yield* reviseAdvisory(context, uid, (stored) => {
      Object.assign(stored, create(AdvisorySchema, to), { uid, advisoryId: stored.advisoryId })
    })
  }
  for (const uid of new Set(withdrawn.map(uidAt))) yield* withdrawAdvisory(context, uid)
}

function* importAll(organization: string, drafts: readonly Draft[], batches: number): Work<string[]> {
  const items = drafts.map((draft, at) => importRowsOf(organization, importItemOf(draft, at)))
  const nextSegment = openSegments()
  const size = Math.ceil(items.length / batches)
  for (let at = 0; at < items.length; at += size) {
    const segment = nextSegment(items[at]?.entry.uid ?? '')
    yield* importBatch(operatorAccess, organization, items.slice(at, at + size), segment)
  }
  return items.map(({ entry }) => entry.uid)
}

onEachStore('a search of advisories', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform(engine)
  })
  after(() => platform.stop())

  async function reindex(): Promise<void> {
    await platform.store.write(function* () {
      yield sql`delete from advisory_postings`
      yield sql`update advisories set segment = 0`
    })
    await reindexAdvisories(platform.store)
  }

  async function readAll(organization: string): Promise<Advisory[]> {
    const rows = await platform.store.query(sql`select proto from advisories where root = ${organization}`)
    return rows.map(([proto]) => messageOf(advisories, proto as Uint8Array))
  }

  function* find(organization: string, query: ListAdvisoriesRequest, limits?: SearchLimits): Work<string[]> {
    const { uids, filters } = yield* search(query, [organization], limits)
    const conditions = join([sql`root = ${organization}`, ...filters], ' and ')
    const matching = yield sql`select uid from advisories where ${conditions}`
    return matching.map(([uid]) => uid as string).filter((uid) => !uids || uids.includes(uid))
  }

  test('returns the same advisories as the naive implementation', async () => {
    let previous = ''
    const requests = fc.array(request, { minLength: 10, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(anyHistory, requests, async (history, queries) => {
        const { organization } = await platform.addOrganization('acme')
        await platform.store.write(() => write(organization, history))
        // The advisories of one other organization are enough; with those of all runs, reindexing takes long.
        await platform.store.write(function* () {
          yield sql`delete from advisories where root not in (${organization}, ${previous})`
        })
        previous = organization
        if (history.isReindexed) await reindex()
        const stored = await readAll(organization)
        // In one transaction, because a transaction for each search takes longer than the searches.
        await platform.store.read(function* () {
          for (const query of queries) {
            const expected = stored.filter((candidate) => isMatch(candidate, query)).map(({ uid }) => uid)
            for (const candidateLimit of [0, 2, 2000])
              assert.deepEqual(
                (yield* find(organization, query, { candidateLimit })).sort(),
                [...expected].sort(),
              )
          }
        })
      }),
      { numRuns: 25 },
    )
  })

  test('is refused if filters with many values match too many advisories, and the error names the filter with the most values', async () => {
    const { organization } = await platform.addOrganization('broad')
    const drafts = Array.from({ length: 5 }, (_, at) => ({
      author: 'ada',
      artifactName: `p${at}`,
      artifactType: 'apk',
    }))
    await platform.store.write(() => importAll(organization, drafts, 1))
    const types = (count: number) => [...Array.from({ length: count - 1 }, (_, at) => `unknown-${at}`), 'apk']
    type Filters = MessageInitShape<typeof ListAdvisoriesRequestSchema>
    const list = async (init: Filters, limits?: SearchLimits) =>
      platform.store.read(() => find(organization, create(ListAdvisoriesRequestSchema, init), limits))
    assert.equal(
      (await list({ artifactTypes: types(30) }, { candidateLimit: 2, comparisonLimit: 0 })).length,
      5,
    )
    const broad = { artifactTypes: types(31), excludeEventAuthors: ['bob'] }
    const refusal = /artifact_types: the filters have 32 values/
    await assert.rejects(list(broad, { candidateLimit: 2, comparisonLimit: 5 * 32 - 1 }), refusal)
    assert.equal((await list(broad, { candidateLimit: 2, comparisonLimit: 5 * 32 })).length, 5)
    await assert.rejects(list(broad, { candidateLimit: 2000, comparisonLimit: 5 * 32 - 1 }), refusal)
    // A filter that matches few advisories leaves few to compare.
    assert.equal(
      (await list({ ...broad, artifactNames: ['p1'] }, { candidateLimit: 2, comparisonLimit: 33 })).length,
      1,
    )
    assert.equal((await list({ artifactTypes: types(1000) })).length, 5)
  })
})
