import assert from 'node:assert/strict'
import { test } from 'node:test'
import { subjectOf } from './entry-subject.ts'

const change = (path: string, after: unknown) => ({ path, after }) as never

test('the subject of an entry is the name of its resource, or a field that identifies it', () => {
  assert.equal(subjectOf({ resource: { name: 'platform' }, changes: [change('email', 'a@b')] }), 'platform')
  assert.equal(subjectOf({ details: { displayName: 'builder' } }), 'builder')
  assert.equal(subjectOf({ changes: [change('email', 'guest@example.com')] }), 'guest@example.com')
  const [identity, role] = [change('identity', { name: 'ci' }), change('role', { name: 'viewer' })]
  assert.equal(subjectOf({ changes: [identity, role] }), 'viewer for ci')
  assert.equal(subjectOf({ changes: [change('sink', undefined), change('email', 5)] }), '')
  assert.equal(subjectOf({}), '')
})
