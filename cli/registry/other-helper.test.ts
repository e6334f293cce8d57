import assert from 'node:assert/strict'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { callHelper } from './other-helper.ts'

describe('a credential helper', { skip: process.platform === 'win32' }, () => {
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

  describe('that fails', () => {
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

    test('is reported with the timeout if it ignores SIGTERM', async () => {
      const script = 'trap "" TERM; sleep 20 2> /dev/null; exit 0'
      await assert.rejects(call(script, 50), /it did not end within 0\.05 seconds$/)
    })
  })

  describe('that has started another program', () => {
    /** The other program keeps the output of the helper open. */
    const start = () => `sleep 600 2> /dev/null & echo $! > ${join(folder, 'pid')}`
    afterEach(async () => {
      const pid = Number(await readFile(join(folder, 'pid'), 'utf8').catch(() => ''))
      if (pid > 0) process.kill(pid)
    })

    test('succeeds when it ends', { timeout: 60_000 }, async () => {
      await call(`${start()}; exit 0`)
    })

    test('is reported if it fails, at the latest after the timeout', { timeout: 60_000 }, async () => {
      await assert.rejects(
        call(`${start()}; exit 4`, 1000),
        /which failed: (exit code 4|it did not end within 1 seconds)$/,
      )
    })
  })
})
