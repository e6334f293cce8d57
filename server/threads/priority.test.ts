import assert from 'node:assert/strict'
import { once } from 'node:events'
import { getPriority } from 'node:os'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'

const skipReason = process.platform !== 'linux' && 'only Linux has priorities of single threads'

test('a background thread lowers its own priority, and not that of the process', {
  skip: skipReason,
}, async () => {
  const before = getPriority()
  const priority = new URL('./priority.ts', import.meta.url)
  const program = `
    import { getPriority } from 'node:os'
    import { parentPort } from 'node:worker_threads'
    import { loadInBackground, runInBackground } from '${priority}'
    loadInBackground()
    const whileLoading = getPriority()
    runInBackground()
    parentPort.postMessage([whileLoading, getPriority()])`
  const thread = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`))
  const [[whileLoading, loaded]] = (await once(thread, 'message')) as [[number, number]]
  assert.ok(
    before < whileLoading && whileLoading < loaded,
    `priorities ${before}, ${whileLoading}, ${loaded}`,
  )
  assert.equal(getPriority(), before)
  await thread.terminate()
})
