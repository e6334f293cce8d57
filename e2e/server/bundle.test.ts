// The first start in a clone makes a bundle of the server, which later starts run.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { appendFile, readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { cachedBundle, serverProgram } from '../../server/bin/program.mjs'
import type { TreeCopy } from '../docs/tree-copy.ts'
import { copyTree } from '../docs/tree-copy.ts'
import { serve, statusOf, until } from './stemmad.ts'

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

  test('serves from the bundle with several threads, and the console from its sources', async () => {
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

  test('stops if the shell of npm start ends while the first start makes the bundle', {
    skip: process.platform === 'win32' && 'Windows has no process groups',
  }, async (t) => {
    const cache = join(copy.folder, 'server', cachedBundle, '..')
    await rm(cache, { recursive: true })
    const command = `"${process.execPath}" ${launcher} serve --port 0 --drain-delay 0; true`
    const shell = spawn('/bin/sh', ['-c', command], {
      cwd: copy.folder,
      env: { PATH: process.env.PATH, HOME: copy.folder, npm_lifecycle_event: 'start' },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    })
    t.after(() => {
      // The process group is gone if the server has stopped.
      if (shell.stdout.readable) process.kill(-(shell.pid as number), 'SIGKILL')
    })
    shell.stdout.resume()
    await until(() => existsSync(cache) && readdirSync(cache).some((name) => name.startsWith('bundle')))
    shell.kill('SIGTERM')
    // The server has the same standard output, which is closed when it has ended.
    await once(shell, 'close')
  })
})
