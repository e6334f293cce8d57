// Runs every check, even after one has failed, and prints the output of those that failed.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const colors = process.stdout.isTTY ? 'force' : 'off'
const checks: Record<string, string[]> = {
  types: ['node_modules/typescript/bin/tsc', '--noEmit', '-p', 'tsconfig.json'],
  style: ['node_modules/@biomejs/biome/bin/biome', 'ci', `--colors=${colors}`, '.'],
  imports: ['scripts/check-imports.ts'],
  generated: ['scripts/check-generated.ts'],
}

for (const [name, command] of Object.entries(checks)) {
  const start = performance.now()
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [...process.execArgv, ...command], {
    cwd: join(import.meta.dirname, '..'),
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(`${status === 0 ? '✔' : '✖'} ${name} (${seconds} s)`)
  if (status === 0) continue
  console.log([error?.message, stdout, stderr].filter(Boolean).join('\n').trimEnd())
  process.exitCode = 1
}
