import assert from 'node:assert/strict'
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { temporaryFolder } from '../testing/stores.ts'
import { cachedBundle, serverProgram, stateOf, statesFile } from './program.mjs'

describe('the launcher of the server', () => {
  let clone: string
  let server: string
  const write = (path: string, text = '') => writeFileSync(join(server, path), text)
  const remove = (path: string) => rmSync(join(server, path), { recursive: true })
  const chosen = () => basename(serverProgram(server))

  beforeEach(async () => {
    clone = await temporaryFolder()
    server = join(clone, 'server')
    mkdirSync(join(clone, 'api'))
    mkdirSync(join(server, cachedBundle), { recursive: true })
    write('main.ts', 'first')
    write('../api/uid.ts')
    write(`${cachedBundle}/main.mjs`)
    const states = ['main.ts', '../api/uid.ts'].map((path) => [path, stateOf(path, server)])
    write(`${cachedBundle}/${statesFile}`, JSON.stringify(Object.fromEntries(states)))
  })
  afterEach(() => rmSync(clone, { recursive: true }))

  test('runs the bundle if no source has changed', () => assert.equal(chosen(), 'main.mjs'))

  test('runs the sources if the size of one has changed', () => {
    write('main.ts', 'second')
    assert.equal(chosen(), 'main.ts')
  })

  test('runs the sources if the time of one has changed', () => {
    utimesSync(join(clone, 'api/uid.ts'), 1, 1)
    assert.equal(chosen(), 'main.ts')
  })

  test('runs the sources if one was deleted', () => {
    remove('../api/uid.ts')
    assert.equal(chosen(), 'main.ts')
  })

  test('runs the sources if the bundle is incomplete', () => {
    for (const states of ['', '{}', '[]']) {
      write(`${cachedBundle}/${statesFile}`, states)
      assert.equal(chosen(), 'main.ts', states)
    }
  })

  test('runs the sources if no bundle can be made', () => {
    remove(cachedBundle)
    assert.equal(chosen(), 'main.ts')
  })

  test('runs the bundle of a package', () => {
    remove('main.ts')
    remove(cachedBundle)
    mkdirSync(join(server, 'bundle'))
    write('bundle/main.mjs')
    assert.equal(chosen(), 'main.mjs')
  })
})
