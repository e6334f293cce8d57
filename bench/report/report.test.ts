import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatTable, plainLine } from './report.ts'

test('the table marks each goal as reached or missed, and leaves lines without a goal unmarked', () => {
  const line = { what: 'Get', measured: '1.5 ms', bound: '1 ms', ratio: '1.50', toReach: '2' }
  const [, , reached, short, only] = formatTable([
    { ...line, isReached: true },
    { ...line, isReached: false },
    plainLine('Memory', '99 MB'),
  ]).split('\n')
  assert.match(reached ?? '', /^Get +1\.5 ms +1 ms +1\.50 +2 +ok$/)
  assert.match(short ?? '', /short$/)
  assert.match(only ?? '', /^Memory +99 MB$/)
})
