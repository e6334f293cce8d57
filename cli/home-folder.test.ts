import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { saveContext, savedContexts } from './context.ts'
import { storeFolder } from './token-store.ts'

// Windows does not use HOME.
const skip = process.platform === 'win32'

test('XDG variables name folders only if they are absolute paths', { skip }, async () => {
  const home = await mkdtemp(join(tmpdir(), 'stemma-'))
  try {
    const folder = join(home, 'cache')
    assert.equal(storeFolder({ HOME: home, XDG_CACHE_HOME: folder }), join(folder, 'stemma'))
    const env = { HOME: home, XDG_CACHE_HOME: 'cache', XDG_CONFIG_HOME: './config' }
    assert.equal(storeFolder(env), storeFolder({ HOME: home }))
    const api = 'https://api.example.com'
    const context = { name: 'prod', api, issuer: api, audience: api }
    await saveContext(context, { env: { HOME: home }, now: Date.now })
    assert.deepEqual(await savedContexts(env), [context])
  } finally {
    await rm(home, { recursive: true })
  }
})
