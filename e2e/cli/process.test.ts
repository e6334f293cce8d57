// The process of `stemma`, started by its launcher: arguments, pipes and exit codes. long-lists.test.ts tests a pipe
// that is closed early.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import type { Client } from './client.ts'
import { openClient } from './client.ts'

const main = join(import.meta.dirname, '../../cli/main.ts')
const helper = join(import.meta.dirname, '../../cli/credential-helper/main.ts')

describe('the process of stemma', () => {
  let platform: Platform
  let client: Client
  before(async () => {
    platform = await startPlatform('sqlite')
    client = await openClient()
  })
  after(async () => {
    await platform.stop()
    await client.remove()
  })

  const env = () => ({ STEMMA_API: platform.url, STEMMA_TOKEN: platform.owner.token })

  test('prints results to standard output and exits with 0', async () => {
    const { code, stdout, stderr } = await client.run(['groups', 'list', '-o', 'uid'], '', env())
    assert.deepEqual([code, stdout, stderr], [0, `${platform.owner.organization}\n`, ''])
  })

  test('reads a document from standard input', async () => {
    const document = JSON.stringify({ name: 'from a pipe', description: 'ü' })
    const args = ['groups', 'create', '--parent', 'acme', '-f', '-', '-o', 'json']
    const { code, stdout, stderr } = await client.run(args, document, env())
    assert.equal(code, 0, stderr)
    assert.equal(JSON.parse(stdout).description, 'ü')
  })

  test('reads standard input only once', async () => {
    const args = ['groups', 'create', '--parent', 'acme', '--name', '@-', '--description', '@-']
    const { code, stdout, stderr } = await client.run(args, 'from a pipe', env())
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, /^stemma: --description: standard input \(-\) can be read only once/)
    const repeated = [
      'repos',
      'create',
      '--parent',
      'acme',
      '--name',
      'app',
      '--bundles',
      '@-',
      '--bundles',
      '@-',
    ]
    const refused = await client.run(repeated, 'fips', env())
    assert.deepEqual([refused.code, refused.stdout], [2, ''])
    assert.match(refused.stderr, /^stemma: --bundles: standard input \(-\) can be read only once/)
  })

  test('prints errors to standard error and exits with their code', async () => {
    const { code, stdout, stderr } = await client.run(['groups', 'get', 'acme/none'], '', env())
    assert.deepEqual([code, stdout], [5, ''])
    assert.match(stderr, /^stemma: there is no group "acme\/none"/)
  })

  /** Runs a script in which `stemma` and `helper`, the credential helper, are functions. */
  async function runScript(script: string) {
    const functions = `stemma() { "$0" "${main}" "$@"; }\nhelper() { "$0" "${helper}" "$@"; }`
    const args = ['-c', `${functions}\n${script}`, process.execPath]
    const child = spawn('bash', args, {
      env: { PATH: process.env.PATH, HOME: client.home, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { stdout, stderr }
  }

  test('says that standard output cannot be written', { skip: process.platform !== 'linux' }, async () => {
    assert.deepEqual(await runScript('stemma --version > /dev/full; echo $?'), {
      stdout: '1\n',
      stderr: 'stemma: standard output: ENOSPC: no space left on device, write\n',
    })
    assert.deepEqual(await runScript('helper --help > /dev/full; echo $?'), {
      stdout: '1\n',
      stderr: 'docker-credential-stemma: standard output: ENOSPC: no space left on device, write\n',
    })
  })

  test('keeps its exit code if nobody reads standard error', {
    skip: process.platform === 'win32',
  }, async () => {
    const script = `
      mkfifo "$HOME/pipe"
      exec 3<> "$HOME/pipe" 4> "$HOME/pipe" 3<&-
      stemma nothing 2>&4
      echo $?
      helper nothing 2>&4
      echo $?`
    assert.deepEqual(await runScript(script), { stdout: '2\n1\n', stderr: '' })
  })
})
