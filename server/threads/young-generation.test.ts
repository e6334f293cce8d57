import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { resetHeapFlags } from './young-generation.ts'

/** Fills and drops enough memory for the young generation to grow to its limit. */
const program = `
  const { getHeapSpaceStatistics } = require('node:v8')
  let kept = []
  for (let at = 0; at < 1e6; at++) {
    kept.push({ at })
    if (kept.length > 40_000) kept = []
  }
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  require('node:worker_threads').parentPort.postMessage(space.space_size)`

async function sizeInThread(maxYoungGenerationSizeMb: number): Promise<number> {
  const thread = new Worker(program, { eval: true, resourceLimits: { maxYoungGenerationSizeMb } })
  const [bytes] = (await once(thread, 'message')) as [number]
  await thread.terminate()
  return bytes
}

test('threads follow their own limits, not the flag of the main thread', async () => {
  for (const flag of ['max-semi-space-size', 'min-semi-space-size']) setFlagsFromString(`--${flag}=16`)
  const withFlag = await sizeInThread(6)
  resetHeapFlags()
  const withLimit = await sizeInThread(6)
  assert.ok(withLimit <= 6 * 2 ** 20 && withLimit < withFlag, `${withLimit} and ${withFlag} bytes`)
})
