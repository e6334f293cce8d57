import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPacedTurns } from './paced-turns.ts'

test('paced connections continue in order; when the time of a turn is used up, the others continue in later turns', async () => {
  let time = 0
  const turns = openPacedTurns(() => time)
  const resumed: number[] = []
  for (let at = 0; at < 5; at++)
    turns.add(() => {
      resumed.push(at)
      // Like the work of a request: two of them fit into a turn.
      time += 0.3
    })
  const counts: number[] = []
  while (resumed.length < 5) {
    await new Promise((resolve) => setImmediate(resolve))
    counts.push(resumed.length)
  }
  assert.deepEqual(resumed, [0, 1, 2, 3, 4])
  assert.ok(
    counts.every((count, at) => count - (counts[at - 1] ?? 0) <= 2),
    counts.join(),
  )
})

test('a connection that waits again continues after the others', async () => {
  const turns = openPacedTurns(() => 0)
  const resumed: string[] = []
  await new Promise<void>((resolve) => {
    turns.add(() => {
      resumed.push('first')
      turns.add(() => {
        resumed.push('first again')
        resolve()
      })
    })
    turns.add(() => resumed.push('second'))
  })
  assert.deepEqual(resumed, ['first', 'second', 'first again'])
})
