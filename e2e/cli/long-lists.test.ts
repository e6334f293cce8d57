// Very long lists are printed page by page with constant memory.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { newChildUid } from '../../server/aip/uid.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { createEntry } from '../../server/resources/create.ts'
import { groups } from '../../server/resources/iam/groups/table.ts'
import { copyGroup } from '../../server/testing/group-copies.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import type { Client } from './client.ts'
import { openClient } from './client.ts'

const groupCount = 100_000
const main = join(import.meta.dirname, '../../cli/main.ts')

// On SQLite only, since the client does not depend on the store.
describe('a list of a hundred thousand groups', () => {
  let platform: Platform
  let client: Client
  before(async () => {
    platform = await startPlatform('sqlite')
    client = await openClient()
    const { organization } = platform.owner
    const uid = newChildUid(organization, Date.now(), randomBytes)
    const group = create(GroupSchema, { name: 'team', description: 'Where the work of a team is kept.' })
    await platform.store.write(() => createEntry(operatorAccess, groups, group, { uid, now: Date.now() }))
    await copyGroup(platform.store, uid, groupCount - 1)
  })
  after(async () => {
    await platform.stop()
    await client.remove()
  })

  const env = () => ({
    PATH: process.env.PATH,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    HOME: client.home,
    STEMMA_API: platform.url,
    STEMMA_TOKEN: platform.owner.token,
  })

  /** Lists groups and returns the number of printed lines and the peak memory in MB. */
  async function list(...args: string[]): Promise<{ lines: number; peakMb: number; code: number }> {
    const report = `data:text/javascript,process.on('exit',()=>process.stderr.write(String(process.resourceUsage().maxRSS)))`
    const child = spawn(
      process.execPath,
      ['--import', report, main, 'groups', 'list', '--descendants-of', 'acme', ...args],
      {
        env: env(),
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    let [lines, stderr] = [0, '']
    child.stdout.on('data', (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 10) lines += 1
    })
    child.stderr.on('data', (chunk) => {
      stderr += chunk
    })
    const [code] = await once(child, 'close')
    return { lines, peakMb: Number(/\d+$/.exec(stderr)?.[0]) / 1024, code }
  }

  test('needs at most 80 MB more memory than a page of 200', async (context) => {
    const few = await list('--page-size', '200', '-o', 'uid')
    const all = await list('--all', '-o', 'table')
    assert.deepEqual([all.code, all.lines], [0, groupCount + 1])
    context.diagnostic(`${Math.round(few.peakMb)} MB for a page, ${Math.round(all.peakMb)} MB for all`)
    // All rows together are 40 MB as text, and several times that as objects.
    assert.ok(all.peakMb < few.peakMb + 80, `${few.peakMb} MB became ${all.peakMb} MB`)
  })

  test('exits silently on Ctrl-C', async () => {
    const child = spawn(process.execPath, [main, 'groups', 'list', '--all'], {
      env: env(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let stderr = ''
    child.stderr.on('data', (chunk) => {
      stderr += chunk
    })
    await once(child.stdout, 'data')
    child.kill('SIGINT')
    child.stdout.resume()
    const [, signal] = await once(child, 'close')
    assert.deepEqual([signal, stderr], ['SIGINT', ''])
  })

  /** The number of list calls that the server has answered so far. */
  async function countLists(): Promise<number> {
    const metrics = await (await fetch(`${platform.url}/metrics`)).text()
    return Number(
      /^stemma_calls_total\{[^}]*ListGroups",door="rest",code="OK"\} (\d+)$/m.exec(metrics)?.[1] ?? 0,
    )
  }

  test('exits silently when its reader closes the pipe, before it has read most pages', async () => {
    const countBefore = await countLists()
    const line = `set -o pipefail; "$0" "$1" groups list --all | head -n 3; echo "\${PIPESTATUS[0]}"`
    const child = spawn('bash', ['-c', line, process.execPath, main], {
      env: env(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (chunk) => {
      stdout += chunk
    })
    child.stderr.on('data', (chunk) => {
      stderr += chunk
    })
    await once(child, 'close')
    assert.match(stdout, /^NAME .*\n.*\n.*\n0\n$/)
    assert.equal(stderr, '')
    const lists = (await countLists()) - countBefore
    // All pages together take 500 calls.
    assert.ok(lists > 0 && lists < 50, `${lists} list calls`)
  })
})
