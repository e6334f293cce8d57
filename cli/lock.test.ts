import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { withLock } from './lock.ts'

describe('a lock file', () => {
  let folder: string
  let file: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stemma-lock-'))
    file = join(folder, 'tokens', 'lock')
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  async function maxConcurrency(): Promise<number> {
    let [running, max] = [0, 0]
    const work = async () => {
      running += 1
      max = Math.max(max, running)
      for (let count = 0; count < 5; count++) await nextTurn()
      running -= 1
    }
    await Promise.all(Array.from({ length: 8 }, () => withLock(file, Date.now, work)))
    return max
  }

  test('admits one process at a time and is removed afterwards', async () => {
    assert.equal(await maxConcurrency(), 1)
    assert.deepEqual(await readdir(join(folder, 'tokens')), [])
  })

  test('is removed after an error', async () => {
    await assert.rejects(
      withLock(file, Date.now, () => Promise.reject(new Error('no'))),
      /no/,
    )
    assert.equal(await withLock(file, Date.now, async () => 'yes'), 'yes')
  })

  test('is taken over by one process if it is stale', async () => {
    await withLock(file, Date.now, async () => undefined)
    const longAgo = new Date(Date.now() - 60_000)
    for (const stale of [file, `${file}.stale`]) {
      await writeFile(stale, '1')
      await utimes(stale, longAgo, longAgo)
    }
    assert.equal(await maxConcurrency(), 1)
    assert.deepEqual(await readdir(join(folder, 'tokens')), [])
  })

  test('can be read by its owner only', async () => {
    await withLock(file, Date.now, async () => {
      assert.equal((await stat(file)).mode & 0o777, 0o600)
      assert.equal((await stat(join(folder, 'tokens'))).mode & 0o777, 0o700)
    })
  })
})
