// A reporter of node:test that prints how long the test files of each folder took, the slowest folder first.
import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'
import { folderOfTests } from './test-processes.ts'

const maxShownFolders = 12

export default async function* timesByFolder(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const secondsByFolder = new Map<string, number>()
  for await (const event of events) {
    // A summary without a file is that of the whole run.
    if (event.type !== 'test:summary' || event.data.file === undefined) continue
    const folder = folderOfTests(relative(process.cwd(), event.data.file))
    secondsByFolder.set(folder, (secondsByFolder.get(folder) ?? 0) + event.data.duration_ms / 1000)
  }
  const slowest = [...secondsByFolder].sort(([, a], [, b]) => b - a).slice(0, maxShownFolders)
  if (slowest.length < 2) return
  yield 'Slowest folders, with the seconds that all their test files took together:\n'
  for (const [folder, seconds] of slowest) yield `${seconds.toFixed(0).padStart(6)}  ${folder}\n`
}
