import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatTable, plainLine } from './report.ts'

test('the table marks each goal as met or missed, and leaves lines without a goal unmarked', () => {
  const line = { label: 'Get', measured: '1.5 ms', baseline: '1 ms', ratio: '1.50', goal: '2' }
  const [, , met, missed, plain] = formatTable([
    { ...line, isMet: true },
    { ...line, isMet: false },
    plainLine('Memory', '99 MB'),
  ]).split('\n')
  assert.match(met ?? '', /^Get +1\.5 ms +1 ms +1\.50 +2 +ok$/)
  assert.match(missed ?? '', /missed$/)
  assert.match(plain ?? '', /^Memory +99 MB$/)
})
