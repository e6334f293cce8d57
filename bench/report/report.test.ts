import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatTable, told } from './report.ts'

test('the table says of each figure whether it is reached, and nothing of those that are only told', () => {
  const line = { what: 'Get', measured: '1.5 ms', bound: '1 ms', ratio: '1.50', toReach: '2' }
  const [, , reached, short, only] = formatTable([
    { ...line, isReached: true },
    { ...line, isReached: false },
    told('Memory', '99 MB'),
  ]).split('\n')
  assert.match(reached ?? '', /^Get +1\.5 ms +1 ms +1\.50 +2 +ok$/)
  assert.match(short ?? '', /short$/)
  assert.match(only ?? '', /^Memory +99 MB$/)
})
