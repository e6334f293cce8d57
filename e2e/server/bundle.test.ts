// The first start in a clone makes a bundle of the server, which later starts run.
import assert from 'node:assert/strict'
import { appendFile, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { cachedBundle, serverProgram } from '../../server/bin/program.mjs'
import type { TreeCopy } from '../docs/tree-copy.ts'
import { copyTree } from '../docs/tree-copy.ts'
import { serve, statusOf } from './stemmad.ts'

describe('a clone', { timeout: 300_000 }, () => {
  let copy: TreeCopy
  before(async () => {
    copy = await copyTree()
  })
  after(() => copy?.remove())

  const launcher = 'server/bin/stemmad.mjs'
  const program = () => basename(serverProgram(join(copy.folder, 'server')))

  test('makes one bundle, even if two first starts run at the same time', async () => {
    const help = copy.run(launcher, '--help')
    assert.equal(await copy.run(launcher, '--help'), await help)
    assert.deepEqual(await readdir(join(copy.folder, 'server', cachedBundle, '..')), ['bundle'])
    assert.equal(program(), 'main.mjs')
  })

  test('serves from the bundle, with the console from its sources and with threads', async () => {
    const server = await serve(copy.folder, ['--workers', '2', '--drain-delay', '0'], {
      node: process.execPath,
      launcher: join(copy.folder, launcher),
    })
    try {
      for (const path of ['/readyz', '/console/', '/docs'])
        assert.equal(await statusOf(server.url + path), 200, path)
    } finally {
      server.signal('SIGINT')
    }
    assert.equal((await server.exited).code, 0)
  })

  test('runs the sources after one of them was edited', async () => {
    await appendFile(join(copy.folder, 'api/client/client.ts'), '\n')
    assert.equal(program(), 'main.mjs', 'a module that the server does not use')
    await appendFile(join(copy.folder, 'server/aip/uid.ts'), '\n')
    assert.equal(program(), 'main.ts')
  })
})
