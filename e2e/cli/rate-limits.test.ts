// `stemma` waits when the server refuses calls because of a rate limit.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startPlatform } from '../../server/testing/platform.ts'
import { openClient } from './client.ts'

// On SQLite only, since the client does not depend on the store.
describe('stemma at a rate limit', () => {
  test('waits and says so, and completes the list', async () => {
    let now = 0
    const platform = await startPlatform('sqlite', ['--rate-list', 'caller=1'], { clock: () => now })
    const client = await openClient('inline')
    const { token, organization } = platform.owner
    const env = { STEMMA_API: platform.url, STEMMA_TOKEN: token }
    try {
      // The limit allows a burst of ten list calls. With one group per page, listing 12 groups takes more than ten. The
      // clock of the limit stands still until a call is refused.
      for (let at = 0; at < 12; at++) {
        const { code, stderr } = await client.run(
          ['groups', 'create', '--name', `g${at}`, '--parent', organization],
          '',
          env,
        )
        assert.equal(code, 0, stderr)
      }
      const running = client.start(
        ['groups', 'list', '--children-of', organization, '--all', '--page-size', '1', '-o', 'uid'],
        '',
        env,
      )
      await running.stderrMatch(/^stemma: too many calls; trying again in 1 s$/m)
      now += 10_000
      const { code, stdout, stderr } = await running.ended
      assert.equal(code, 0, stderr)
      assert.equal(stdout.trim().split('\n').length, 12)
    } finally {
      await platform.stop()
      await client.remove()
    }
  })
})
