import assert from 'node:assert/strict'
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { temporaryFolder } from '../testing/stores.ts'
import { cachedBundle, inputsFile, serverProgram, stateOf } from './program.mjs'

describe('the launcher of the server', () => {
  let folder: URL
  const write = (path: string, text = '') => writeFileSync(new URL(path, folder), text)
  const chosen = () => basename(serverProgram(folder).pathname)

  beforeEach(async () => {
    folder = pathToFileURL(`${await temporaryFolder()}/`)
    mkdirSync(new URL('api/', folder))
    folder = new URL('server/', folder)
    mkdirSync(new URL(cachedBundle, folder), { recursive: true })
    write('main.ts', 'first')
    write('../api/uid.ts')
    write(`${cachedBundle}main.mjs`)
    const inputs = ['main.ts', '../api/uid.ts'].map((path) => [path, stateOf(path, folder)])
    write(`${cachedBundle}${inputsFile}`, JSON.stringify(Object.fromEntries(inputs)))
  })
  afterEach(() => rmSync(new URL('..', folder), { recursive: true }))

  test('runs the bundle if no source has changed', () => assert.equal(chosen(), 'main.mjs'))

  test('runs the sources if the size of one has changed', () => {
    write('main.ts', 'second')
    assert.equal(chosen(), 'main.ts')
  })

  test('runs the sources if the time of one has changed', () => {
    utimesSync(new URL('../api/uid.ts', folder), 1, 1)
    assert.equal(chosen(), 'main.ts')
  })

  test('runs the sources if one was deleted', () => {
    rmSync(new URL('../api/uid.ts', folder))
    assert.equal(chosen(), 'main.ts')
  })

  test('runs the sources if no bundle can be made', () => {
    rmSync(new URL(cachedBundle, folder), { recursive: true })
    assert.equal(chosen(), 'main.ts')
  })

  test('runs the bundle of a package', () => {
    rmSync(new URL('main.ts', folder))
    rmSync(new URL(cachedBundle, folder), { recursive: true })
    mkdirSync(new URL('bundle/', folder))
    write('bundle/main.mjs')
    assert.equal(chosen(), 'main.mjs')
  })
})
