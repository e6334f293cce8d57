// The program of the threads that checks.ts starts. A check loads the modules that it needs: a thread that only matches
// tokens never loads Markdown. They are loaded after the priority is lowered, because loading takes processor time.
import { parentPort } from 'node:worker_threads'
import type { CheckAnswer, CheckTask } from './checks.ts'
import type { Patterns } from './claims/pattern.ts'
import { runInBackground } from './threads/priority.ts'

const port = parentPort
if (!port) throw new Error('checks-thread.ts runs only as a thread')

runInBackground()
let openedPatterns: Patterns | undefined

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
      return (await import('./resources/registry/repos/readme.ts')).readmeFault(task.content)
    case 'patterns': {
      const { judgePattern } = await import('./claims/pattern-rule.ts')
      return task.patterns.map(({ kind, pattern }) => judgePattern(kind, pattern))
    }
    case 'sbom':
      return (await import('./resources/registry/content/images/read-sbom.ts')).readSbom(task)
    case 'chart':
      return (await import('./resources/registry/content/images/read-chart.ts')).readChart(task)
    case 'trust':
      return (await import('./claims/trust.ts')).performTrustCheck(await patterns(), task)
    default:
      return (await import('./claims/matcher.ts')).performMatch(await patterns(), task)
  }
}

/** The patterns that were compiled stay compiled for later checks. */
async function patterns(): Promise<Patterns> {
  const { openPatterns } = await import('./claims/pattern.ts')
  openedPatterns ??= openPatterns()
  return openedPatterns
}
