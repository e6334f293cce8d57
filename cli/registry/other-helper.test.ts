import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { callHelper } from './other-helper.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stemma-helper-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Calls a helper that is a shell script. */
async function call(script: string, timeoutMs?: number): Promise<void> {
  const file = join(folder, 'docker-credential-test')
  await writeFile(file, `#!/bin/sh\n${script}\n`)
  await chmod(file, 0o755)
  const env = { PATH: [folder, process.env.PATH].join(delimiter) }
  await callHelper('test', 'store', '{}', env, timeoutMs)
}

describe('a credential helper that fails', { skip: process.platform === 'win32' }, () => {
  test('is reported with its output, or else with its exit code or signal', async () => {
    await assert.rejects(call('echo locked; exit 1'), /docker-credential-test, which failed: locked$/)
    await assert.rejects(call('exit 4'), /which failed: exit code 4$/)
    await assert.rejects(call('kill -9 $$'), /which failed: ended by SIGKILL$/)
  })

  test('is reported with the timeout if it does not end, also if it has started another program', async () => {
    await assert.rejects(call('exec sleep 600', 50), /which failed: it did not end within 0\.05 seconds$/)
    // The shell ends at the signal; `sleep` keeps its output open.
    await assert.rejects(call('sleep 20 2> /dev/null; exit 1', 50), /it did not end within 0\.05 seconds$/)
  })
})
