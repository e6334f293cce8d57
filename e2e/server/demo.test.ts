// The example organization of stemmad demo.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '@stemma/server/app.ts'
import { readConfig } from '@stemma/server/config/config.ts'
import { openLog } from '@stemma/server/log.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { onEachStore, temporaryStore } from '@stemma/server/testing/stores.ts'
import { freePort } from '../../api/testing/free-port.ts'
import { password, signIn } from '../sign-in/sign-in.ts'
import { Visitor } from '../sign-in/visitor.ts'
import { runStemmadInline } from './stemmad.ts'

onEachStore('stemmad demo', (engine) => {
  test('fills an empty store, once, and its owner can sign in', async () => {
    const temporary = await temporaryStore(engine)
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const args = [...temporary.settings, '--port', String(port), '--base-url', url]
    try {
      const { code, stdout, stderr } = await runStemmadInline(['demo', ...args])
      assert.equal(code, 0, stderr)
      const { stdout: people } = await runStemmadInline(['users', 'list', 'platform-lead@', ...args])
      const { stdout: entries } = await runStemmadInline(['audit', 'list', people.slice(0, 40), ...args])
      const { kind, action } = JSON.parse(entries.trim().split('\n').at(-1) ?? '{}')
      assert.deepEqual([kind, action], ['accounts', 'password-reset'])
      const again = await runStemmadInline(['demo', ...args])
      assert.equal(again.code, 2)
      assert.match(again.stderr, /the store is not empty/)
      const settings = [...args, '--log-level', 'silent', '--drain-delay', '0']
      const app = await startApp(readConfig({}, settings).config, openLog('silent'))
      try {
        assert.equal(app.setUpLink, undefined)
        const visitor = new Visitor(url)
        const page = await visitor.open(/http\S+\/password\?code=\S+/.exec(stdout)?.[0] ?? '')
        assert.equal((await visitor.submit(page, { password })).title, 'Your password is set')
        const { tokens } = await signIn({ url } as Platform, 'platform-lead@northwind.example')
        const list = async (path: string) => {
          const headers = { authorization: `Bearer ${tokens.access_token}` }
          const answer = await fetch(`${url}/${path}?page_size=200`, { headers })
          return (await answer.json()) as Record<string, Record<string, unknown>[]> & { totalCount: string }
        }
        const counts: Record<string, string> = {}
        for (const path of [
          ...['iam/v2beta1/groups', 'iam/v2beta1/roleBindings', 'iam/v2beta1/groupInvites'],
          ...['registry/v2beta1/repos', 'registry/v2beta1/tags', 'vulnerabilities/v2beta1/advisories'],
        ])
          counts[path.split('/')[2] ?? ''] = (await list(path)).totalCount
        assert.deepEqual(counts, {
          ...{ groups: '11', roleBindings: '10', groupInvites: '2', repos: '4', tags: '12', advisories: '3' },
        })
        const { tags } = await list('registry/v2beta1/tags')
        for (const { platforms } of tags ?? []) assert.deepEqual(platforms, ['linux/amd64', 'linux/arm64'])
        const { groups } = await list('iam/v2beta1/groups')
        const times = groups?.map(({ createTime }) => Date.parse(String(createTime))) ?? []
        assert.ok(Math.min(...times) < Date.now() - 20 * 24 * 3600_000, 'the first group is weeks old')
        const { entries = [] } = await list('audit/v2beta1/entries')
        const invited = entries.filter(({ action }) => action === 'accepted')
        assert.equal(invited.length, 6)
        for (const { time } of invited)
          assert.ok(
            Date.parse(String(time)) < Date.now() - 10 * 24 * 3600_000,
            'invites were accepted long ago',
          )
      } finally {
        await app.stop(true)
      }
      const checked = await runStemmadInline(['check', ...args])
      assert.equal(checked.code, 0, checked.stdout + checked.stderr)
    } finally {
      await temporary.remove()
    }
  })
})
