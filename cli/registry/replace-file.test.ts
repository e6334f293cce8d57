import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { replaceFile } from './replace-file.ts'

test('a file is replaced through 40 symbolic links, and not through more', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'stemma-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, '0')
  await writeFile(file, 'old')
  for (let at = 1; at <= 41; at++) await symlink(join(folder, String(at - 1)), join(folder, String(at)))
  await replaceFile(join(folder, '40'), 'new')
  assert.equal(await readFile(file, 'utf8'), 'new')
  await assert.rejects(replaceFile(join(folder, '41'), 'newer'), /leads through more than 40 symbolic links/)
  assert.equal(await readFile(file, 'utf8'), 'new')
})
