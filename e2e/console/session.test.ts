// Console sessions over HTTP: sign-in, tokens, sign-out, and attacks on them.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { Code } from '@stemma/server/aip/code.ts'
import { cookieNamesOf } from '@stemma/server/auth/login/cookies.ts'
import { raw, sql } from '@stemma/server/store/sql.ts'
import { grpcDoor } from '@stemma/server/testing/doors.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import { addAccount, password, startSignInPlatform } from '../sign-in/sign-in.ts'
import { Visitor } from '../sign-in/visitor.ts'

const email = 'ada@example.com'
const cookieName = 'stemma-console'

onEachStore('a console session', (engine) => {
  let platform: Platform
  let person: string
  before(async () => {
    platform = await startSignInPlatform(engine)
    person = await addAccount(platform, email)
    await platform.bind(person, 'owner', platform.owner.organization)
  })
  after(() => platform.stop())

  async function signIn(visitor = new Visitor(platform.url), to = '/console/'): Promise<Visitor> {
    const form = await visitor.open(`/console/sign-in?to=${encodeURIComponent(to)}`)
    assert.equal(form.title, 'Sign in')
    const end = await visitor.submit(form, { email, password })
    assert.equal(end.url, platform.url + to)
    return visitor
  }

  const ownHeaders = () => ({
    origin: platform.url,
    'x-stemma-console': '1',
    'sec-fetch-site': 'same-origin',
  })

  function post(path: string, cookie: string | undefined, headers: Record<string, string> = ownHeaders()) {
    return fetch(platform.url + path, {
      method: 'POST',
      headers: { ...headers, ...(cookie !== undefined && { cookie: `${cookieName}=${cookie}` }) },
    })
  }

  async function tokenOf(cookie: string | undefined): Promise<string | undefined> {
    const response = await post('/console/token', cookie)
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('cache-control'), 'no-store')
    return ((await response.json()) as { token?: string }).token
  }

  const listGroups = (headers: Record<string, string>) =>
    fetch(`${platform.url}/iam/v2beta1/groups`, { headers }).then(({ status }) => status)

  test('gets tokens that the API accepts, and names the person', async () => {
    const visitor = await signIn(undefined, '/console/g/abc/groups?dialog=create')
    const cookie = visitor.cookie(cookieName)
    const token = await tokenOf(cookie)
    assert.equal(await listGroups({ authorization: `Bearer ${token}` }), 200)
    const { person: named } = (await (await post('/console/token', cookie)).json()) as { person: object }
    assert.deepEqual(named, { uid: person, name: email, email })
  })

  test('counts as used when the console gets a token', async () => {
    const cookie = (await signIn()).cookie(cookieName)
    const { store } = platform
    await store.write(function* () {
      yield sql`update sign_ins set use_time = 0, user_agent = 'Other' where client = 'console'`
    })
    await tokenOf(cookie)
    const used = await store.query(sql`select use_time, user_agent from sign_ins where use_time > 0
      and client = 'console'`)
    assert.equal(used.length, 1)
    assert.notEqual(used[0]?.[1], 'Other')
  })

  test('gets tokens even if its use cannot be recorded', async () => {
    const cookie = (await signIn()).cookie(cookieName)
    const isSqlite = platform.store.engine === 'sqlite'
    const run = (statement: string) =>
      platform.store.write(function* () {
        yield raw(statement)
      })
    await run(
      isSqlite
        ? `create trigger no_updates before update on sign_ins begin select raise(abort, 'refused'); end`
        : 'alter table sign_ins add constraint no_updates check (use_time < 0) not valid',
    )
    try {
      assert.ok(await tokenOf(cookie))
    } finally {
      await run(isSqlite ? 'drop trigger no_updates' : 'alter table sign_ins drop constraint no_updates')
    }
  })

  test('has a cookie that scripts and other sites cannot use', async () => {
    const visitor = new Visitor(platform.url)
    const form = await visitor.open('/console/sign-in')
    const resume = await visitor.submitOnly(form, form.forms[0]?.action ?? '', { email, password })
    const redirect = await visitor.redirectOf(resume)
    const cookie = visitor.copyCookies().map(({ name, value }) => `${name}=${value}`)
    const answer = await fetch(redirect, { redirect: 'manual', headers: { cookie: cookie.join('; ') } })
    const line = answer.headers.getSetCookie().find((entry) => entry.startsWith(`${cookieName}=`))
    assert.match(line ?? '', /; path=\/; max-age=86400; samesite=strict; httponly$/)
  })

  test('is not accepted by the API', async () => {
    const cookie = (await signIn()).cookie(cookieName) ?? ''
    assert.equal(await listGroups({ cookie: `${cookieName}=${cookie}` }), 401)
    assert.equal(await listGroups({ authorization: `Bearer ${cookie}` }), 401)
    const grpc = grpcDoor(platform.url)
    const { listGroups: method } = GroupsService.method
    const sent = await grpc.send(method, {}, cookie, { cookie: `${cookieName}=${cookie}` })
    assert.equal(sent.result.error?.code, Code.UNAUTHENTICATED)
    grpc.close()
  })

  test('gives no token to other sites', async () => {
    const cookie = (await signIn()).cookie(cookieName)
    const wrong: Record<string, string>[] = [
      {},
      { ...ownHeaders(), origin: 'https://evil.example.com' },
      { ...ownHeaders(), 'sec-fetch-site': 'same-site' },
      { origin: platform.url, 'sec-fetch-site': 'same-origin' },
    ]
    for (const headers of wrong)
      for (const path of ['/console/token', '/console/sign-out']) {
        const response = await post(path, cookie, headers)
        assert.equal(response.status, 403, `${path} ${JSON.stringify(headers)}`)
        assert.equal(response.headers.get('access-control-allow-origin'), null)
      }
    const byGet = await fetch(`${platform.url}/console/token`, { headers: ownHeaders() })
    assert.equal(byGet.status, 405)
    assert.notEqual(await tokenOf(cookie), undefined, 'the session still works')
  })

  test('has an id that nobody can choose beforehand', async () => {
    const chosen = 'a'.repeat(43)
    const visitor = new Visitor(platform.url)
    visitor.useCookies([{ name: cookieName, value: chosen, path: '/' }])
    await signIn(visitor)
    assert.notEqual(visitor.cookie(cookieName), chosen)
    assert.equal(await tokenOf(chosen), undefined)
  })

  test('is begun only in the browser that began the sign-in', async () => {
    const attacker = new Visitor(platform.url)
    const form = await attacker.open('/console/sign-in')
    const resume = await attacker.submitOnly(form, form.forms[0]?.action ?? '', { email, password })
    const link = await attacker.redirectOf(resume)
    assert.match(link, /\/console\/signed-in\?/)
    const victim = new Visitor(platform.url)
    assert.equal((await victim.open(link)).status, 400)
    assert.equal(victim.cookie(cookieName), undefined)
    await attacker.open(link)
    const first = attacker.cookie(cookieName)
    assert.notEqual(first, undefined)
    assert.equal((await attacker.open(link)).status, 400, 'the code works once')
  })

  test('begins at the requested page only if it is a page of the console or the documentation', async () => {
    await signIn(undefined, '/docs/iam-v2beta1-groups#try-getgroup')
    const elsewhere = [
      ...['https://evil.example.com/', '//evil.example.com/console/', '/\\evil.example.com', '/console'],
      ...['/console/../docs', '/console/sign-in', 'javascript:alert(1)', `/console/${'a'.repeat(2000)}`],
      ...['/console//../../oauth/logout', '/iam/v2beta1/groups', '/console/\t/../../x'],
      ...[
        '/docs/../iam/v2beta1/groups',
        '/docs/../../evil',
        '/docsevil',
        '//docs/x',
        '/docs/..//evil.example.com',
      ],
    ]
    // The path is checked without the store.
    for (const to of engine === 'sqlite' ? elsewhere : elsewhere.slice(0, 2)) {
      const visitor = new Visitor(platform.url)
      const form = await visitor.open(`/console/sign-in?to=${encodeURIComponent(to)}`)
      const end = await visitor.submit(form, { email, password })
      assert.equal(end.url, `${platform.url}/console/`, to)
    }
  })

  test('ends with a sign-out, and its tokens too', async () => {
    const visitor = await signIn()
    const cookie = visitor.cookie(cookieName)
    const token = await tokenOf(cookie)
    assert.equal((await post('/console/sign-out', cookie)).status, 200)
    assert.equal(await tokenOf(cookie), undefined)
    assert.equal(await listGroups({ authorization: `Bearer ${token}` }), 401)
  })

  test('is not listed after a sign-out, and neither is the session at the sign-in pages', async () => {
    const listed = () => platform.store.query(sql`select id from sign_ins where identity = ${person}`)
    const before = await listed()
    const visitor = await signIn()
    assert.equal((await listed()).length, before.length + 2)
    const { session } = cookieNamesOf(platform.config.authUrl)
    const cookies = `${visitor.cookie(cookieName)}; ${session}=${visitor.cookie(session)}`
    assert.equal((await post('/console/sign-out', cookies)).status, 200)
    assert.deepEqual(await listed(), before)
  })

  test('ends with a sign-out, and so does the session at the sign-in pages, even if its cookie is not sent', async () => {
    const listed = () => platform.store.query(sql`select id from sign_ins where identity = ${person}`)
    const before = await listed()
    const visitor = await signIn()
    assert.equal((await visitor.open('/console/sign-in')).title, 'Continue?')
    assert.equal((await post('/console/sign-out', visitor.cookie(cookieName))).status, 200)
    assert.deepEqual(await listed(), before)
    assert.equal((await visitor.open('/console/sign-in')).title, 'Sign in')
  })

  test('ends on every machine with a sign-out everywhere', async () => {
    const [here, there] = [await signIn(), await signIn()]
    const token = await tokenOf(there.cookie(cookieName))
    await post('/console/sign-out?everywhere', here.cookie(cookieName))
    assert.equal(await tokenOf(there.cookie(cookieName)), undefined)
    assert.equal(await listGroups({ authorization: `Bearer ${token}` }), 401)
  })
})

test('over https, no other host of the domain can set the cookie of a console session', () => {
  assert.equal(cookieNamesOf('https://stemma.example.com').console, '__Host-stemma-console')
})
