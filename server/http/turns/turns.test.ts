import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openTurns } from './turns.ts'

const immediate = () => new Promise<void>((resolve) => setImmediate(resolve))
const of = (group: string) => () => ({ group, member: 'only', weight: 1 })

describe('turns', () => {
  test('start calls at once while the event loop has time, and the others in later turns', async () => {
    let time = 0
    const turns = openTurns(() => time)
    const started: number[] = []
    for (let at = 0; at < 10; at++)
      turns.run(of('caller'), () => {
        started.push(at)
        time += 0.25
      })
    assert.deepEqual(started, [0, 1])
    const counts = [started.length]
    while (started.length < 10) {
      await immediate()
      counts.push(started.length)
    }
    assert.deepEqual(started, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    assert.ok(
      counts.every((count, at) => count - (counts[at - 1] ?? 0) <= 2),
      counts.join(),
    )
    turns.run(of('caller'), () => started.push(10))
    assert.equal(started.length, 11, 'with nothing waiting, a call starts at once again')
  })

  test('charge a call for the time of its promises', async () => {
    let time = 0
    const turns = openTurns(() => time)
    const started: string[] = []
    // Uses up the time in which calls start at once.
    turns.run(of('first'), () => {
      time += 2
    })
    for (let at = 0; at < 3; at++) {
      turns.run(of('costly'), async () => {
        started.push('costly')
        await Promise.resolve()
        time += 10
      })
      turns.run(of('cheap'), () => void started.push('cheap'))
    }
    while (started.length < 6) await immediate()
    assert.deepEqual(started, ['costly', 'cheap', 'cheap', 'cheap', 'costly', 'costly'])
  })

  test('charge at most 5 ms of measured time for a call, even if the server paused during the call', async () => {
    let time = 0
    const turns = openTurns(() => time)
    const started: string[] = []
    const add = (name: string, duration: number) =>
      turns.run(of(name), () => {
        started.push(name)
        time += duration
      })
    add('first', 2)
    add('paused', 1000)
    for (let at = 0; at < 8; at++) add('other', 1)
    add('paused', 1)
    while (started.length < 11) await immediate()
    assert.deepEqual(started.indexOf('paused', 2), 7, started.join())
  })

  test('give waiting calls as much time as the rest of the turn took, from 0.5 to 2 ms', async () => {
    let time = 0
    const turns = openTurns(() => time)
    let started = 0
    const start = () => {
      started++
      time += 0.25
    }
    const add = (count: number) => {
      for (let at = 0; at < count; at++) turns.run(of('caller'), start)
    }
    add(102)
    for (const [elsewhere, expected] of [
      [0.25, 2],
      [1.5, 6],
      [50, 8],
    ] as const) {
      const before = started
      // Like work that does not wait for turns, such as parsing.
      time += elsewhere
      await immediate()
      assert.equal(started - before, expected, `after ${elsewhere} ms of other work`)
    }
  })

  test('refuse calls that can be refused if their group has 100 waiting calls per unit of weight', async () => {
    let time = 0
    const turns = openTurns(() => time)
    const counts = { started: 0, refused: 0 }
    const start = () => {
      counts.started++
      time += 2
    }
    const run = (weight: number) =>
      turns.run(
        () => ({ group: `weight ${weight}`, member: 'only', weight }),
        start,
        () => counts.refused++,
      )
    run(1) // uses all the time of this turn
    for (let at = 0; at < 150; at++) run(1)
    assert.deepEqual(counts, { started: 1, refused: 50 })
    for (let at = 0; at < 250; at++) run(2)
    assert.deepEqual(counts, { started: 1, refused: 100 })
    turns.run(of('weight 1'), start)
    while (counts.started < 302) await immediate()
    run(1)
    assert.deepEqual(counts, { started: 303, refused: 100 })
  })
})
