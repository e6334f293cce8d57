// The program of the threads that checks.ts starts.
import { parentPort } from 'node:worker_threads'
import type { CheckAnswer, CheckTask } from './checks.ts'
import { performMatch } from './claims/matcher.ts'
import { openPatterns } from './claims/pattern.ts'
import { judgePattern } from './claims/pattern-rule.ts'
import { performTrustCheck } from './claims/trust.ts'
import { readChart } from './resources/registry/content/images/read-chart.ts'
import { readSbom } from './resources/registry/content/images/read-sbom.ts'
import { readmeFault } from './resources/registry/repos/readme.ts'
import { runInBackground } from './threads/priority.ts'

const port = parentPort
if (!port) throw new Error('checks-thread.ts runs only as a thread')

runInBackground()
const patterns = openPatterns()

port.on('message', async (task: CheckTask) => {
  const answer = await perform(task).then(
    (result): CheckAnswer => ({ result }),
    (error: Error): CheckAnswer => ({ error: error.stack ?? error.message }),
  )
  port.postMessage(answer)
})

async function perform(task: CheckTask): Promise<unknown> {
  switch (task.kind) {
    case 'readme':
      return readmeFault(task.content)
    case 'patterns':
      return task.rules.map(({ kind, pattern }) => judgePattern(kind, pattern))
    case 'sbom':
      return readSbom(task)
    case 'chart':
      return readChart(task)
    case 'trust':
      return performTrustCheck(patterns, task)
    default:
      return performMatch(patterns, task)
  }
}
