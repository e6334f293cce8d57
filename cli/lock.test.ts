import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { withLock } from './lock.ts'

let folder: string
let file: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stemma-lock-'))
  file = join(folder, 'tokens', 'lock')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** How many were at it at once, at most. */
async function mostAtOnce(): Promise<number> {
  let [now, most] = [0, 0]
  const act = async () => {
    now += 1
    most = Math.max(most, now)
    for (let count = 0; count < 5; count++) await turn()
    now -= 1
  }
  await Promise.all(Array.from({ length: 8 }, () => withLock(file, act)))
  return most
}

test('lets one at a time through, and leaves nothing behind', async () => {
  assert.equal(await mostAtOnce(), 1)
  assert.deepEqual(await readdir(join(folder, 'tokens')), [])
})

test('is given back by who fails', async () => {
  await assert.rejects(
    withLock(file, () => Promise.reject(new Error('no'))),
    /no/,
  )
  assert.equal(await withLock(file, async () => 'yes'), 'yes')
})

test('a lock of one who died long ago is taken over, by one at a time', async () => {
  await withLock(file, async () => undefined)
  const longAgo = new Date(Date.now() - 60_000)
  for (const left of [file, `${file}.stale`]) {
    await writeFile(left, '1')
    await utimes(left, longAgo, longAgo)
  }
  assert.equal(await mostAtOnce(), 1)
  assert.deepEqual(await readdir(join(folder, 'tokens')), [])
})

test('is for nobody else’s eyes', async () => {
  await withLock(file, async () => {
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    assert.equal((await stat(join(folder, 'tokens'))).mode & 0o777, 0o700)
  })
})
