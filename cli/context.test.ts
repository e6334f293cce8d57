import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { readContext, saveContext, savedContexts } from './context.ts'

describe('a context', () => {
  const api = 'https://api.example.com'
  const issuer = 'https://issuer.example.com'
  let home: string
  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'stemma-'))
    await mkdir(join(home, 'stemma'))
    const contexts = { prod: { api, issuer }, broken: { api: 'nowhere', issuer: 'nobody' } }
    await writeFile(join(home, 'stemma/config.json'), JSON.stringify({ contexts }))
  })
  after(() => rm(home, { recursive: true }))

  const read = (flags: Parameters<typeof readContext>[0], env: NodeJS.ProcessEnv = {}) =>
    readContext(flags, { XDG_CONFIG_HOME: home, ...env })

  test('keeps its issuer if its own API is given, but not if another API is given', async () => {
    for (const context of [
      await read({ context: 'prod' }),
      await read({ api }),
      await read({}, { STEMMA_API: api }),
    ])
      assert.deepEqual(context, { name: 'prod', api, issuer, audience: api })
    const other = 'https://other.example.com'
    assert.equal((await read({ context: 'prod', api: other })).issuer, other)
  })

  test('that does not exist is an error, unless the API is given', async () => {
    await assert.rejects(read({ context: 'test' }), /there is no context "test"/)
    await assert.rejects(read({}, { STEMMA_CONTEXT: 'test' }), /there is no context "test"/)
    assert.equal((await read({ context: 'test', api })).api, api)
    assert.equal((await read({}, { STEMMA_CONTEXT: 'test', STEMMA_API: api })).api, api)
  })

  test('with a wrong value is refused, and the error says where the value comes from', async () => {
    await assert.rejects(read({ api: 'x' }), /: --api must be/)
    await assert.rejects(read({}, { STEMMA_API: 'x' }), /: STEMMA_API must be/)
    await assert.rejects(read({ issuer: 'x' }), /: --issuer must be/)
    await assert.rejects(read({}, { STEMMA_ISSUER: 'x' }), /: STEMMA_ISSUER must be/)
    await assert.rejects(read({ context: 'broken' }), /the API of the context broken must be/)
    await assert.rejects(read({ context: '../x' }), /--context must be/)
    await assert.rejects(read({}, { STEMMA_CONTEXT: '../x' }), /STEMMA_CONTEXT must be/)
  })
})

describe('the file of contexts', () => {
  let home: string
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'stemma-'))
    await mkdir(join(home, 'stemma'))
  })
  afterEach(() => rm(home, { recursive: true }))

  test('keeps every context if several are saved at the same time', async () => {
    const env = { XDG_CONFIG_HOME: home }
    const names = ['a', 'b', 'c', 'd']
    const save = (name: string) => {
      const api = `https://${name}.example.com`
      return saveContext({ name, api, issuer: api, audience: api }, { env, now: Date.now })
    }
    await Promise.all(names.map(save))
    const saved = await savedContexts(env)
    assert.deepEqual(saved.map(({ name }) => name).sort(), names)
    assert.deepEqual(await readdir(join(home, 'stemma')), ['config.json'])
  })

  for (const [content, message] of [
    ['{', /config\.json is not valid JSON; correct or remove it/],
    ['null', /config\.json must contain a JSON object; correct or remove it/],
    ['[]', /config\.json must contain a JSON object; correct or remove it/],
    ['{"contexts": null}', /contexts in .*config\.json must be an object; correct or remove it/],
    ['{"contexts": {"prod": null}}', /contexts\.prod in .* must be an object; correct or remove it/],
    ['{"current": 5}', /current in .* must be a string; correct or remove it/],
  ] as const)
    test(`is refused with the content ${content}`, async () => {
      const env = { XDG_CONFIG_HOME: home }
      await writeFile(join(home, 'stemma/config.json'), content)
      await assert.rejects(readContext({}, env), message)
      await assert.rejects(savedContexts(env), message)
    })
})
