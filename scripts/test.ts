// Runs every check and every test; with paths or flags of `node --test`, runs only the tests that they select.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runPinned } from './pinned-node.mjs'
import { groupTestFiles, hasHookAtRoot } from './test-processes.ts'

const root = join(import.meta.dirname, '..')
const args = process.argv.slice(2).filter((arg) => arg !== '--')
const flags = args.filter((arg) => arg.startsWith('-'))
const paths = args.filter((arg) => !arg.startsWith('-')).map((path) => path.replace(/^\.\/|\/$/g, ''))

const allFiles = globSync('{api,server,cli,console,e2e,scripts,bench}/**/*.test.ts', {
  cwd: root,
  exclude: ['**/node_modules'],
}).map((file) => file.replaceAll('\\', '/')) // Windows separates folders by backslashes
const selected =
  paths.length === 0 ? allFiles : allFiles.filter((file) => paths.some((path) => isWithin(file, path)))
const unmatched = paths.filter((path) => !allFiles.some((file) => isWithin(file, path)))
if (unmatched.length > 0) {
  console.error(`no test file in ${unmatched.join(', ')}`)
  process.exit(1)
}
const withHookAtRoot = selected.filter((file) => hasHookAtRoot(readFileSync(join(root, file), 'utf8')))
if (withHookAtRoot.length > 0) {
  console.error(
    `hooks outside of describe would also run for other files of the same process: ${withHookAtRoot.join(', ')}`,
  )
  process.exit(1)
}

const checksExitCode = args.length === 0 ? await runPinned([join(root, 'scripts/check.ts')]) : 0
// Node exits with 0 if it is interrupted before the first test, so this script records the interrupt itself.
let interruptExitCode = 0
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => (interruptExitCode = 1))
// Makes garbage collections rarer, because test processes allocate many short-lived objects. The gain
// has not been measured on an otherwise idle machine.
const nodeOptions = [process.env.NODE_OPTIONS, '--max-semi-space-size=64'].filter(Boolean).join(' ')
// Far longer than a busy machine needs for a whole process, so that only a test that hangs fails.
const maxMinutes = 45
const groups = groupTestFiles(root, selected.sort())
const testsExitCode = await runPinned(
  [
    '--test',
    '--test-global-setup=server/testing/global-setup.ts',
    '--import=./server/testing/resolve-imports.ts',
    '--import=./server/testing/untracked-promises.ts',
    ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
    ...['--test-reporter=./scripts/test-times.ts', '--test-reporter-destination=stdout'],
    // With two processes, two cores are idle for a seventh of a run, because some tests wait.
    '--test-concurrency=3',
    `--test-timeout=${maxMinutes * 60_000}`,
    ...flags,
    ...groups.files,
  ],
  { cwd: root, env: { ...process.env, NODE_OPTIONS: nodeOptions } },
)
groups.remove()
if (checksExitCode !== 0) console.error('✖ the checks failed, see the first lines of this output')
process.exitCode = testsExitCode || checksExitCode || interruptExitCode

function isWithin(file: string, path: string): boolean {
  return file === path || file.startsWith(`${path}/`)
}
