// The program of the threads that checks.ts starts. A check loads the modules that it needs: a thread that only matches
// tokens never loads Markdown. The first check runs at the lowest priority only after it has loaded them.
import { parentPort } from 'node:worker_threads'
import type { CheckAnswer, CheckTask } from './checks.ts'
import type { Patterns } from './claims/pattern.ts'
import { loadInBackground, runInBackground } from './threads/priority.ts'

const port = parentPort
if (!port) throw new Error('checks-thread.ts runs only as a thread')

loadInBackground()
let openedPatterns: Patterns | undefined

port.on('message', async (task: CheckTask) => {
  const answer = await perform(task).then(
    (result): CheckAnswer => ({ result }),
    (error: Error): CheckAnswer => ({ error: error.stack ?? error.message }),
  )
  port.postMessage(answer)
})

async function perform(task: CheckTask): Promise<unknown> {
  const check = await loadCheck(task)
  runInBackground()
  return check()
}

async function loadCheck(task: CheckTask): Promise<() => unknown> {
  switch (task.kind) {
    case 'readme': {
      const { readmeFault } = await import('./resources/registry/repos/readme.ts')
      return () => readmeFault(task.content)
    }
    case 'patterns': {
      const { judgePattern } = await import('./claims/pattern-rule.ts')
      return () => task.patterns.map(({ kind, pattern }) => judgePattern(kind, pattern))
    }
    case 'sbom': {
      const { readSbom } = await import('./resources/registry/content/images/read-sbom.ts')
      return () => readSbom(task)
    }
    case 'chart': {
      const { readChart } = await import('./resources/registry/content/images/read-chart.ts')
      return () => readChart(task)
    }
    case 'trust': {
      const { performTrustCheck } = await import('./claims/trust.ts')
      const opened = await patterns()
      return () => performTrustCheck(opened, task)
    }
    default: {
      const { performMatch } = await import('./claims/matcher.ts')
      const opened = await patterns()
      return () => performMatch(opened, task)
    }
  }
}

/** The patterns that were compiled stay compiled for later checks. */
async function patterns(): Promise<Patterns> {
  const { openPatterns } = await import('./claims/pattern.ts')
  openedPatterns ??= openPatterns()
  return openedPatterns
}
