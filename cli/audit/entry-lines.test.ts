import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entryLines } from './entry-lines.ts'

test('an entry has its age or its time, and an entry of a server whose clock is ahead has the age zero', () => {
  const now = Date.parse('2026-01-01T00:00:00.000Z')
  const screen = { isTerminal: true, now, write: async () => {}, dim: String, bold: String }
  const startAt = (time: string, showsAge: boolean) =>
    entryLines({ time, action: 'signed-in' }, false, showsAge, screen).split('  ')[0]
  assert.equal(startAt('2025-12-31T23:59:55.000Z', true), '5s ago')
  assert.equal(startAt('2025-12-31T23:59:55.000Z', false), '2025-12-31T23:59:55.000Z')
  assert.equal(startAt('2026-01-01T00:00:03.000Z', true), '0s ago')
})
