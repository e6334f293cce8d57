// The certification scenario of AuthZEN 1.0 (openid/authzen, certification/authorization-api-1_0-scenario.md), at the
// levels Basic Core, Batch Core and Search Core. Its sections are named by their anchors, such as c-2-2-1. Requests are
// as in the scenario; `mapped` replaces its fixture by resources of Stemma.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }
type JsonObject = { [name: string]: Json }

/** The uids that stand for the subjects and resources of the fixture. */
export type Fixture = { alice: string; bob: string; record1: string; record2: string; nobody: string }

/** Types and actions of the fixture, and what they are in Stemma. */
const terms: Readonly<Record<string, string>> = {
  ...{ user: 'identity', record: 'repo' },
  ...{ read: 'repo.list', write: 'repo.update', delete: 'repo.delete' },
}

/** The request with the types, actions and ids of Stemma. */
export function mapped(json: Json, fixture: Fixture): Json {
  const ids: Record<string, string> = {
    ...{ alice: fixture.alice, bob: fixture.bob, 'nonexistent-user': fixture.nobody },
    ...{ 'record-1': fixture.record1, 'record-2': fixture.record2 },
  }
  const names = { ...terms, ...ids }
  const convert = (value: Json, name: string): Json => {
    if (Array.isArray(value)) return value.map((item) => convert(item, ''))
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, convert(inner, key)]))
    return typeof value === 'string' && ['type', 'id', 'name'].includes(name)
      ? (names[value] ?? value)
      : value
  }
  return convert(json, '')
}

export const alice: JsonObject = { type: 'user', id: 'alice' }
export const bob: JsonObject = { type: 'user', id: 'bob' }
export const read: JsonObject = { name: 'read' }
export const write: JsonObject = { name: 'write' }
export const record1: JsonObject = { type: 'record', id: 'record-1' }
export const record2: JsonObject = { type: 'record', id: 'record-2' }
const context: JsonObject = { time: '2025-06-27T18:03-07:00', ip: '192.168.1.1' }
const users: JsonObject = { type: 'user' }
const records: JsonObject = { type: 'record' }

/** c-2-2, and rules 2 and 3 of c-1-4: requests that are answered with a decision. */
export const evaluations: readonly { name: string; body: JsonObject; decision: boolean }[] = [
  { name: 'c-2-2-1 permit', body: { subject: alice, action: read, resource: record1 }, decision: true },
  { name: 'c-1-4 rule 2', body: { subject: alice, action: write, resource: record1 }, decision: true },
  { name: 'c-1-4 rule 3', body: { subject: bob, action: read, resource: record1 }, decision: true },
  { name: 'c-2-2-2 deny', body: { subject: bob, action: write, resource: record1 }, decision: false },
  {
    name: 'c-2-2-3 context',
    body: { subject: alice, action: read, resource: record1, context },
    decision: true,
  },
  {
    name: 'c-2-2-8 additional properties',
    body: {
      subject: { ...alice, properties: { department: 'Sales', role: 'manager' } },
      action: { ...read, properties: { method: 'GET' } },
      resource: { ...record1, properties: { status: 'active', owner: 'bob' } },
    },
    decision: true,
  },
  {
    name: 'c-2-2-9 unknown fields',
    body: { subject: alice, action: read, resource: record1, foo: 'bar', futureField: { nested: true } },
    decision: true,
  },
]

/** c-2-4-1, c-2-4-2 and c-2-4-6: requests that are answered with 400. */
export const faultyEvaluations: readonly JsonObject[] = [
  { action: read, resource: record1 },
  { subject: alice, resource: record1 },
  { subject: alice, action: read },
  { subject: { id: 'alice' }, action: read, resource: record1 },
  { subject: users, action: read, resource: record1 },
  { subject: alice, action: {}, resource: record1 },
  { subject: alice, action: read, resource: { id: 'record-1' } },
  { subject: alice, action: read, resource: records },
  { subject: 'alice', action: read, resource: record1 },
  { subject: alice, action: { name: 123 }, resource: record1 },
]

/** c-3-2 to c-3-4. A decision is undefined where the scenario leaves it to the implementation. */
export const batches: readonly { name: string; body: JsonObject; decisions: (boolean | undefined)[] }[] = [
  {
    name: 'c-3-2-1 evaluations',
    body: { subject: alice, action: read, evaluations: [{ resource: record1 }, { resource: record2 }] },
    decisions: [true, undefined],
  },
  {
    name: 'c-3-2-2 fixture decisions',
    body: { subject: bob, resource: record1, evaluations: [{ action: read }, { action: write }] },
    decisions: [true, false],
  },
  {
    name: 'c-3-2-5 no defaults',
    body: {
      evaluations: [
        { subject: alice, action: read, resource: record1 },
        { subject: bob, action: write, resource: record1 },
      ],
    },
    decisions: [true, false],
  },
  {
    name: 'c-3-2-6 context inheritance',
    body: {
      ...{ subject: alice, action: read, context: { time: '2025-06-27T18:03-07:00' } },
      evaluations: [
        { resource: record1 },
        { resource: record2, context: { time: '2025-06-27T19:00-07:00', source: 'batch-override' } },
      ],
    },
    decisions: [true, undefined],
  },
  {
    name: 'c-3-4-1 an evaluation that lacks its resource',
    body: {
      ...{ subject: alice, action: read, options: { evaluations_semantic: 'execute_all' } },
      evaluations: [{ resource: record1 }, {}],
    },
    decisions: [true, false],
  },
]

/** c-3-4-2 and c-3-4-3: without evaluations, the request is a single evaluation. */
export const singles: readonly JsonObject[] = [
  { subject: alice, action: read, resource: record1 },
  { subject: alice, action: read, resource: record1, evaluations: [] },
]

/** The kind that is searched for, the request, and results that must be among those of the response. */
type Search = {
  name: string
  kind: 'subject' | 'resource' | 'action'
  body: JsonObject
  results: JsonObject[]
}

/** c-4-2 to c-4-4. */
export const searches: readonly Search[] = [
  ...[{}, { context }].map(
    (extra): Search => ({
      ...{ name: 'c-4-2-1, c-4-2-2', kind: 'subject', results: [alice, bob] },
      body: { subject: users, action: read, resource: record1, ...extra },
    }),
  ),
  {
    ...{ name: 'c-4-2-3 id of the subject', kind: 'subject', results: [alice, bob] },
    body: { subject: alice, action: read, resource: record1 },
  },
  ...[{}, { context }].map(
    (extra): Search => ({
      ...{ name: 'c-4-3-1, c-4-3-2', kind: 'resource', results: [record1] },
      body: { subject: alice, action: read, resource: records, ...extra },
    }),
  ),
  {
    ...{ name: 'c-4-3-3 id of the resource', kind: 'resource', results: [record1] },
    body: { subject: alice, action: read, resource: record1 },
  },
  ...[{}, { context }].map(
    (extra): Search => ({
      ...{ name: 'c-4-4-1, c-4-4-2', kind: 'action', results: [read, write] },
      body: { subject: alice, resource: record1, ...extra },
    }),
  ),
]

/** c-4-6, for each of the three searches. */
export const emptySearches: readonly Omit<Search, 'name' | 'results'>[] = [
  { kind: 'action', body: { subject: { type: 'user', id: 'nonexistent-user' }, resource: record1 } },
  {
    kind: 'resource',
    body: { subject: { type: 'user', id: 'nonexistent-user' }, action: read, resource: records },
  },
  {
    kind: 'subject',
    body: { subject: users, action: read, resource: { type: 'record', id: 'no-such-record' } },
  },
  { kind: 'subject', body: { subject: { type: 'spaceship' }, action: read, resource: record1 } },
  { kind: 'resource', body: { subject: alice, action: read, resource: { type: 'spaceship' } } },
  { kind: 'action', body: { subject: { type: 'spaceship', id: 'alice' }, resource: record1 } },
]

/** c-4-7. */
export const faultySearches: readonly Omit<Search, 'name' | 'results'>[] = [
  { kind: 'subject', body: { subject: users, resource: record1 } },
  { kind: 'resource', body: { action: read, resource: records } },
  { kind: 'action', body: { subject: alice } },
  { kind: 'subject', body: { subject: users, action: read, resource: records } },
  { kind: 'resource', body: { subject: users, action: read, resource: records } },
  { kind: 'action', body: { subject: users, resource: record1 } },
]
