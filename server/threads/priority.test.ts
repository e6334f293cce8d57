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
    import { runInBackground } from '${priority}'
    runInBackground()
    parentPort.postMessage(getPriority())`
  const thread = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`))
  const [inThread] = (await once(thread, 'message')) as [number]
  assert.ok(inThread >= 10, `priority ${inThread}`)
  assert.equal(getPriority(), before)
  await thread.terminate()
})
