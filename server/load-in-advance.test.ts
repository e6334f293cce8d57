import assert from 'node:assert/strict'
import type { EventLoopUtilization } from 'node:perf_hooks'
import { describe, test } from 'node:test'
import { loadInAdvance } from './load-in-advance.ts'

/** Takes the active milliseconds of each second, and returns the seconds in which `load` is called. */
function loadedAt(t: { mock: { timers: typeof import('node:test').mock.timers } }, activeMs: number[]) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let second = 0
  const totalOf = (count: number) => activeMs.slice(0, count).reduce((sum, active) => sum + active, 0)
  const utilizationOf = (current?: EventLoopUtilization, previous?: EventLoopUtilization) => {
    const active = current && previous ? current.active - previous.active : totalOf(second)
    return { active, idle: 0, utilization: active / 1000 }
  }
  const loaded: number[] = []
  loadInAdvance(async () => loaded.push(second), utilizationOf)
  for (second = 1; second <= activeMs.length; second++) t.mock.timers.tick(1000)
  return loaded
}

describe('a part of the server that is loaded in advance', () => {
  test('is not loaded while the server is idle', (t) => {
    assert.deepEqual(loadedAt(t, Array(100).fill(5)), [])
  })

  test('is loaded once, in the first second in which a server in use is not busy', (t) => {
    assert.deepEqual(loadedAt(t, [900, 900, 900, 400, 400, 0]), [4])
  })
})
