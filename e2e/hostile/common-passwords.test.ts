// Passwords that an attacker tries first, at every place where a password is chosen.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Platform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { remove, runStemmadInline, temporaryFolder } from '../server/stemmad.ts'
import { password, startSignInPlatform } from '../sign-in/sign-in.ts'
import { Visitor } from '../sign-in/visitor.ts'

const common = ['Password2026!', '123456789012', 'qwertyuiopas', 'P4$$w0rdP4$$w0rd', 'administrator']

onEachStore('a common password', (engine) => {
  let platform: Platform
  let folder: string
  before(async () => {
    platform = await startSignInPlatform(engine)
    folder = await temporaryFolder()
  })
  after(async () => {
    await platform.stop()
    await remove(folder)
  })

  function operate(...args: string[]) {
    const { dataDir, baseUrl, databaseUrl, secretKey } = platform.config
    const storeFlags = databaseUrl ? ['--database-url', databaseUrl, '--secret-key', secretKey ?? ''] : []
    return runStemmadInline([...args, '--data-dir', dataDir, '--base-url', baseUrl, ...storeFlags])
  }

  test('is refused on the page for choosing a password', async () => {
    const { stdout } = await operate('users', 'add', 'grace.hopper@example.com')
    const [link = ''] = /http\S+code=\S+/.exec(stdout) ?? []
    const visitor = new Visitor(platform.url)
    const page = await visitor.open(link)
    const partsOfAddress = ['grace.hopper2026', '!!example.com!!']
    for (const chosen of [...common, ...partsOfAddress]) {
      const answer = await visitor.submit(page, { password: chosen })
      assert.equal(answer.status, 400, chosen)
      assert.match(answer.alert ?? '', /The password .*must be harder to guess/)
    }
    assert.equal((await visitor.submit(page, { password })).status, 200)
  })

  test('is refused by the command that sets a password', async () => {
    const file = join(folder, 'password')
    const address = 'grace@example.com'
    for (const chosen of [...common, address]) {
      await writeFile(file, chosen)
      const { code, stderr } = await operate('users', 'add', address, '--password-file', file)
      assert.equal(code, 2, chosen)
      assert.match(stderr, /the password .*must be harder to guess/)
    }
  })
})
