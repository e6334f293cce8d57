// Invites that a guest opens by a link, in a browser.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { builtInRole } from '@stemma/server/policy/built-in-roles.ts'
import { sql } from '@stemma/server/store/sql.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import { captureLog } from '../server/captured-log.ts'
import { addAccount, password, startSignInPlatform } from './sign-in.ts'
import { Visitor } from './visitor.ts'

type Invite = { uid: string; code: string; url: string }

onEachStore('an invite by link', (engine) => {
  let platform: Platform
  let team: string
  let now = Date.now()
  const captured = captureLog('debug')
  before(async () => {
    platform = await startSignInPlatform(engine, [], { now: () => now }, captured.log)
    team = (await call<{ uid: string }>('groups', platform.owner.organization, { name: 'team' })).uid
  })
  after(() => platform.stop())

  async function call<T>(collection: string, parent: string, body: object): Promise<T> {
    const answer = await fetch(`${platform.url}/iam/v2beta1/${collection}/${parent}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.owner.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    assert.equal(answer.status, 200, await answer.clone().text())
    return (await answer.json()) as T
  }

  const invite = (fields: object = {}) =>
    call<Invite>('groupInvites', team, { roleUid: builtInRole('viewer').uid, ttl: '600s', ...fields })

  const bindingsOf = (identity: string) =>
    platform.store.query(sql`select parent from role_bindings where identity = ${identity}`)

  test('shows the organization, the group, the role, the inviter and the expiry', async () => {
    const { url } = await invite({ email: 'ada@example.com' })
    const page = await new Visitor(platform.url).open(url)
    assert.equal(page.status, 200)
    assert.equal(page.title, 'Join acme')
    const { owner } = platform
    const [row] = await platform.store.query(sql`select name from identities where uid = ${owner.identity}`)
    for (const text of ['acme / team', 'viewer', 'ada@example.com', `${row?.[0]} invites you`, 'UTC'])
      assert.ok(page.text.includes(text), `${text} in ${page.text}`)
    assert.equal(page.headers.get('referrer-policy'), 'same-origin')
    assert.equal(page.headers.get('cache-control'), 'no-store')
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  })

  test('changes nothing when it is opened, and leads to the sign-in that accepts it', async () => {
    const identity = await addAccount(platform, 'guest@example.com')
    const { url } = await invite({ singleUse: true })
    const visitor = new Visitor(platform.url)
    await visitor.open(url)
    const page = await visitor.open(url)
    assert.deepEqual(await bindingsOf(identity), [])
    const form = await visitor.submit(page, {})
    assert.equal(form.title, 'Sign in')
    assert.match(form.text, /Stemma console asks you to sign in to/)
    assert.match(form.text, /accepts the invite to <strong>acme \/ team</)
    assert.deepEqual(await bindingsOf(identity), [])
    const end = await visitor.submit(form, { email: 'guest@example.com', password })
    assert.equal(end.url, `${platform.url}/console/`)
    assert.deepEqual(await bindingsOf(identity), [[team]])
    assert.equal((await visitor.open(url)).status, 404, 'it was used')
  })

  test('is refused if its code is wrong, or if it was withdrawn', async () => {
    const { url, uid } = await invite()
    const visitor = new Visitor(platform.url)
    const { grp, kid } = JSON.parse(Buffer.from(new URL(url).pathname.slice(8), 'base64url').toString())
    const forged = Buffer.from(JSON.stringify({ grp, kid, sec: 'x'.repeat(43) })).toString('base64url')
    for (const text of [forged, 'nonsense', 'x'.repeat(5000)]) {
      const page = await visitor.open(`${platform.url}/invite/${text}`)
      assert.equal(page.status, 404)
      assert.match(page.alert ?? '', /no invite with this code/)
      assert.ok(!page.text.includes('acme'), 'a wrong code reveals nothing')
    }
    for (const path of ['/invite', '/invite/', '/invite/a/b'])
      assert.equal((await visitor.open(platform.url + path)).status === 200, false, path)
    await fetch(`${platform.url}/iam/v2beta1/groupInvites/${uid}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${platform.owner.token}` },
    })
    assert.equal((await visitor.open(url)).status, 404)
  })

  test('says so if it has expired', async () => {
    const { url } = await invite({ ttl: '60s' })
    const visitor = new Visitor(platform.url)
    const page = await visitor.open(url)
    now += 61_000
    const later = await visitor.open(url)
    assert.deepEqual([later.status, later.title], [410, 'This invite has expired'])
    assert.equal((await visitor.submit(page, {})).status, 410)
  })

  test('that expires before the form for a new account is sent is reported at that form, not at the sign-in form', async () => {
    const { url } = await invite({ ttl: '60s' })
    const visitor = new Visitor(platform.url)
    const form = await visitor.submit(await visitor.open(url), {})
    now += 61_000
    const refused = await visitor.submitTo(form, '/account', { email: 'late@example.com', password })
    assert.match(refused.alert ?? '', /ask for another invite/)
    const fieldOf = (id: string) => refused.text.match(new RegExp(`<input id="${id}"[^>]*>`))?.[0] ?? ''
    assert.match(fieldOf('new-email'), /autofocus aria-invalid="true" aria-describedby="problem"/)
    assert.doesNotMatch(fieldOf('email'), /autofocus|aria-invalid/)
  })

  test('cannot be accepted by a form of another site', async () => {
    const { code } = await invite()
    const answer = await fetch(`${platform.url}/invite`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: 'https://evil.example.com' },
      body: new URLSearchParams({ code }),
    })
    assert.equal(answer.status, 403)
  })

  test('does not appear in the log', async () => {
    const { url, code } = await invite()
    const visitor = new Visitor(platform.url)
    await visitor.submitOnly(await visitor.open(url), '/invite')
    const log = captured.written.join('\n')
    for (const secret of [code, url.split('/').at(-1) ?? '']) assert.ok(!log.includes(secret))
  })
})
