// Sign-in pages that a hostile web page opens in the browser of a person, and paths that resemble
// the paths of sign-in pages.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import { addAccount, signIn, startSignInPlatform } from '../sign-in/sign-in.ts'

const ada = 'ada@example.com'

onEachStore('pages of sign-in', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await startSignInPlatform(engine)
    await addAccount(platform, ada)
  })
  after(() => platform.stop())

  test('are not confirmed by a key that the person is holding down when the page opens', async () => {
    const { visitor } = await signIn(platform, ada)
    const code = String(generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' }).x)
    const page = await visitor.open(`${platform.url}/oauth?headless_code=${code}`)
    assert.equal(page.title, 'Continue?')
    assert.doesNotMatch(page.text, /autofocus/)
  })

  test('have only one path each, so that no other path bypasses their checks', async () => {
    const { origin } = new URL(platform.config.authUrl)
    for (const path of [
      '/device/',
      '/device//',
      '/device/%2F',
      '/oauth/device/',
      '/oauth/authorize/',
      '/oauth/token/',
      '/oauth/revoke/',
      '/oauth/',
      '/oauth/finish/',
      '/sign-in/x/',
      '/sign-in/x/account/',
      '/password/',
      '/set-up/',
      '/orgcheck/',
    ]) {
      for (const method of ['GET', 'POST']) {
        const { status } = await fetch(`${platform.url}${path}?user_code=BCDF-GHJK`, {
          method,
          headers: { origin },
        })
        assert.equal(status, 404, `${method} ${path}`)
      }
    }
  })

  test('refuse other methods, and the response names those that the path accepts', async () => {
    const { origin } = new URL(platform.config.authUrl)
    for (const [path, allow] of [
      ['/set-up', 'GET, HEAD, POST'],
      ['/sign-in/x/account', 'POST'],
    ]) {
      const response = await fetch(platform.url + path, { method: 'PUT', headers: { origin } })
      assert.deepEqual([response.status, response.headers.get('allow')], [405, allow])
    }
  })
})
