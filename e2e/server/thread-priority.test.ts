import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { spawnServer } from './server-process.ts'

const skip = process.platform !== 'linux' && 'only Linux has priorities of single threads'

test('a server runs its event loops before the threads of V8', { skip }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'stemma-test-'))
  const { server } = await spawnServer(['--data-dir', folder, '--port', '0', '--workers', '2'])
  try {
    const tasks = `/proc/${server.pid}/task`
    const names = new Map(
      readdirSync(tasks).map((thread) => [thread, readFileSync(`${tasks}/${thread}/comm`, 'utf8').trim()]),
    )
    const prioritiesOf = (name: string) =>
      [...names].filter(([, of]) => of.startsWith(name)).map(([thread]) => getPriority(Number(thread)))
    const own = getPriority()
    assert.deepEqual(new Set(prioritiesOf('V8Worker')), new Set([Math.max(5, own)]))
    assert.deepEqual(new Set(prioritiesOf('WorkerThread')), new Set([own]))
    assert.equal(getPriority(server.pid), own)
  } finally {
    server.kill('SIGKILL')
    await once(server, 'exit')
    await rm(folder, { recursive: true })
  }
})
