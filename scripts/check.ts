// Runs all checks at the same time, and prints the output of those that failed.
import { execFile } from 'node:child_process'
import { join } from 'node:path'

const colors = process.stdout.isTTY ? 'force' : 'off'
const checks: Record<string, string[]> = {
  types: compile('tsconfig.json', 'types'),
  console: compile('console/tsconfig.json', 'console'),
  style: ['node_modules/@biomejs/biome/bin/biome', 'ci', `--colors=${colors}`, '.'],
  imports: ['scripts/check-imports.ts'],
  generated: ['scripts/check-generated.ts'],
}

for (const [name, command] of Object.entries(checks)) {
  const start = performance.now()
  const options = { cwd: join(import.meta.dirname, '..'), maxBuffer: 2 ** 26 }
  execFile(process.execPath, [...process.execArgv, ...command], options, (error, stdout, stderr) => {
    const seconds = ((performance.now() - start) / 1000).toFixed(1)
    console.log(`${error ? '✖' : '✔'} ${name} (${seconds} s)`)
    if (!error) return
    // Without output, the check did not run, and the message says why.
    console.log([stdout, stderr].join('\n').trim() || error.message)
    process.exitCode = 1
  })
}

/**
 * Checks the types of a program. `state` names the file that makes the next check faster: without changes, it takes a
 * fifth of the time.
 */
function compile(project: string, state: string): string[] {
  return [
    ...['node_modules/typescript/bin/tsc', '--noEmit', '-p', project],
    ...['--incremental', '--tsBuildInfoFile', `node_modules/.cache/${state}.tsbuildinfo`],
    // With several threads, each would check the shared types again, which takes twice the CPU time.
    // The other checks use the other cores.
    '--singleThreaded',
  ]
}
