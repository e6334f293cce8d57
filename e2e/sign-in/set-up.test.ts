// Set-up of an empty server by a link, accounts added by the operator, and accounts created with invites.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { AccountService } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { cookieNamesOf } from '@stemma/server/auth/login/cookies.ts'
import { builtInRole } from '@stemma/server/policy/built-in-roles.ts'
import { raw, sql } from '@stemma/server/store/sql.ts'
import { restDoor } from '@stemma/server/testing/doors.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import type { Configuration } from 'openid-client'
import { remove, runStemmadInline, temporaryFolder } from '../server/stemmad.ts'
import { emptyServer } from './empty-server.ts'
import { addAccount, begin, password, redeem, relyingParty, signIn, startSignInPlatform } from './sign-in.ts'
import { Visitor } from './visitor.ts'

const usedLinkAlert = /was used before, or has expired/

type ConsoleToken = { token?: string; person?: { email: string } }

onEachStore('an empty server', (engine) => {
  test('is set up in a browser by the printed link, once', async () => {
    const { url, start, args, remove } = await emptyServer(engine)
    const app = await start()
    try {
      const link = app.setUpLink ?? ''
      assert.ok(link.startsWith(`${url}/set-up?code=`))
      const visitor = new Visitor(url)
      const page = await visitor.open(link)
      assert.equal(page.title, 'Set up this server')
      const entries = { organization: 'acme', email: 'Ada@Example.com', password }
      for (const [field, value, message] of [
        ['organization', 'No Capitals', /^The name of the organization/],
        ['email', 'nobody', /^The e-mail address/],
        ['password', 'short', /^The password must have at least 12 characters/],
        ['password', 'aaaaaaaaaaaaaaaa', /harder to guess/],
      ] as const) {
        const answer = await visitor.submit(page, { ...entries, [field]: value })
        assert.equal(answer.status, 400)
        assert.match(answer.alert ?? '', message)
        assert.equal(answer.forms[0]?.fields.password, '', 'a password is never sent back')
        if (field !== 'email') assert.equal(answer.forms[0]?.fields.email, 'Ada@Example.com')
      }
      assert.equal((await visitor.submit(page, { ...entries, code: 'another' })).status, 410)
      const concurrentAnswers = await Promise.all([1, 2].map(() => visitor.submit(page, entries)))
      assert.deepEqual(concurrentAnswers.map(({ status }) => status).sort(), [200, 410])
      assert.match(concurrentAnswers.find(({ status }) => status === 200)?.title ?? '', /acme is ready/)
      assert.equal((await visitor.open(link)).status, 410)
      const { person, token = '' } = await consoleTokenOf(visitor, url)
      assert.equal(person?.email, 'ada@example.com', 'the owner is signed in to the console')
      const { body } = await restDoor(url).call(AccountService.method.listSessions, {}, token)
      const sessions = body?.sessions as { client: string; current: boolean }[]
      assert.deepEqual(
        sessions.map(({ client, current }) => [client, current]),
        [['Stemma console', true]],
      )
      assert.deepEqual(await consoleTokenOf(new Visitor(url), url), {})

      const { stdout: operators } = await runStemmadInline(['operators', 'list', ...args])
      assert.match(operators, /^[0-9a-f]{40} {2}ada@example\.com\n$/)
      const { tokens } = await signIn({ url } as Platform, 'ada@example.com')
      const groups = await fetch(`${url}/iam/v2beta1/groups`, {
        headers: { authorization: `Bearer ${tokens.access_token}` },
      })
      const { groups: list } = (await groups.json()) as { groups: { name: string }[] }
      assert.deepEqual(
        list.map(({ name }) => name),
        ['acme'],
      )
    } finally {
      await app.stop(true)
      await remove()
    }
  })

  /** The response with the console's token and person; empty if the browser has no session. */
  async function consoleTokenOf(visitor: Visitor, url: string): Promise<ConsoleToken> {
    const answer = await fetch(`${url}/console/token`, {
      method: 'POST',
      headers: {
        ...{ origin: url, 'x-stemma-console': '1' },
        cookie: `${cookieNamesOf(url).console}=${visitor.cookie(cookieNamesOf(url).console)}`,
      },
    })
    return (await answer.json()) as ConsoleToken
  }

  test('cannot be set up when an organization exists', async () => {
    const { url, start, args, remove } = await emptyServer(engine)
    const app = await start()
    try {
      for (const [org, owner] of [
        ['acme', 'ada@example.com'],
        ['beta', 'bea@example.com'],
      ] as const) {
        const ran = await runStemmadInline(['bootstrap', '--org', org, '--owner', owner, ...args])
        assert.equal(ran.code, 0, ran.stderr)
      }
      const { stdout: operators } = await runStemmadInline(['operators', 'list', ...args])
      assert.match(operators, /^\S+ {2}ada@example\.com\n$/, 'only the owner of the first organization')
      const page = await new Visitor(url).open(app.setUpLink ?? '')
      assert.equal(page.status, 410)
      assert.match(page.alert ?? '', /set up already/)
    } finally {
      await app.stop(true)
      await remove()
    }
  })

  test('accepts the links of earlier starts', async () => {
    const { url, start, remove } = await emptyServer(engine)
    const first = await start()
    await first.stop(true)
    const second = await start()
    try {
      const visitor = new Visitor(url)
      for (const link of [first.setUpLink, second.setUpLink])
        assert.equal((await visitor.open(link ?? '')).status, 200)
    } finally {
      await second.stop(true)
      await remove()
    }
  })
})

onEachStore('local accounts', (engine) => {
  let platform: Platform
  let folder: string
  let party: Configuration
  before(async () => {
    platform = await startSignInPlatform(engine)
    folder = await temporaryFolder()
    party = await relyingParty(platform.url)
  })
  after(async () => {
    await platform.stop()
    await remove(folder)
  })

  /** Runs a command of stemmad on the store of the platform. */
  const operate = (...args: string[]) => {
    const { dataDir, baseUrl, databaseUrl, secretKey } = platform.config
    const store = databaseUrl ? ['--database-url', databaseUrl, '--secret-key', secretKey ?? ''] : []
    return runStemmadInline([...args, '--data-dir', dataDir, '--base-url', baseUrl, ...store])
  }

  const linkIn = (text: string) => /http\S+\/password\?code=[\w-]+/.exec(text)?.[0] ?? ''

  async function choosePassword(link: string, chosen = password) {
    const visitor = new Visitor(platform.url)
    const page = await visitor.open(link)
    return page.status === 200 ? visitor.submit(page, { password: chosen }) : page
  }

  const subjectOf = async (email: string) => (await signIn(platform, email)).tokens.claims()?.sub

  test('are added by the operator without a password', async () => {
    const { code, stdout, stderr } = await operate('users', 'add', 'Bob@Example.com')
    assert.equal(code, 0, stderr)
    const identity = /is ([0-9a-f]{40})/.exec(stdout)?.[1]
    const link = linkIn(stdout)
    assert.equal((await choosePassword(link, 'short')).status, 400)
    assert.equal((await choosePassword(link)).title, 'Your password is set')
    assert.match((await choosePassword(link)).alert ?? '', usedLinkAlert)
    assert.equal(await subjectOf('bob@example.com'), identity)
    const again = await operate('users', 'add', 'bob@example.com')
    assert.equal(again.code, 2)
    assert.match(again.stderr, /users reset/)
  })

  test('can be reset, which ends every session', async () => {
    await addAccount(platform, 'cyd@example.com')
    const { tokens, visitor } = await signIn(platform, 'cyd@example.com')
    const { stdout } = await operate('users', 'reset', 'cyd@example.com')
    const first = linkIn(stdout)
    const { stdout: later } = await operate('users', 'reset', 'cyd@example.com')
    assert.match(
      (await choosePassword(first)).alert ?? '',
      usedLinkAlert,
      'the newer link replaces the first',
    )
    assert.equal((await choosePassword(linkIn(later), 'an entirely new password')).status, 200)
    const { refreshTokenGrant } = await import('openid-client')
    await assert.rejects(refreshTokenGrant(party, tokens.refresh_token ?? ''), { error: 'invalid_grant' })
    const page = await visitor.open((await begin(party)).url)
    assert.equal(page.title, 'Sign in')
    assert.equal((await visitor.submit(page, { email: 'cyd@example.com', password })).status, 401)
    assert.equal((await operate('users', 'reset', 'nobody@example.com')).code, 2)
  })

  test('can be signed out everywhere, by address or uid, and keep their password', async () => {
    const identity = await addAccount(platform, 'deb@example.com')
    for (const person of ['deb@example.com', identity]) {
      const { tokens } = await signIn(platform, 'deb@example.com')
      const { code, stderr } = await operate('users', 'sign-out', person)
      assert.equal(code, 0, stderr)
      const me = await fetch(`${platform.url}/auth/v1/ok`, {
        headers: { authorization: `Bearer ${tokens.access_token}` },
      })
      assert.equal(me.status, 401)
    }
    assert.equal(await subjectOf('deb@example.com'), identity)
    for (const person of ['nobody@example.com', '0'.repeat(40), 'nonsense'])
      assert.equal((await operate('users', 'sign-out', person)).code, 2)
  })

  test('can be added with a password from a file', async () => {
    const file = join(folder, 'password')
    await writeFile(file, `${password}\n`)
    const added = await operate('users', 'add', 'dan@example.com', '--password-file', file)
    assert.equal(added.code, 0, added.stderr)
    assert.equal(linkIn(added.stdout), '')
    assert.ok(await subjectOf('dan@example.com'))
    await writeFile(file, 'short\n')
    const weak = await operate('users', 'add', 'eve@example.com', '--password-file', file)
    assert.deepEqual([weak.code, /at least 12/.test(weak.stderr)], [2, true])
    assert.equal((await operate('users', 'add', 'not an address')).code, 2)
    assert.equal((await operate('users', 'rename', 'dan@example.com')).code, 2)
    assert.equal((await operate('users', 'add', 'fay@example.com', '--password-file', '/nowhere')).code, 2)
  })

  test('are created by the operator together with an organization', async () => {
    const made = await operate('bootstrap', '--org', 'beta', '--owner', 'fred@example.com', '--json')
    const { identity, passwordLink } = JSON.parse(made.stdout)
    assert.equal((await choosePassword(passwordLink)).status, 200)
    assert.equal(await subjectOf('fred@example.com'), identity.uid)
    const again = await operate('bootstrap', '--org', 'gamma', '--owner', 'fred@example.com', '--json')
    assert.deepEqual(Object.keys(JSON.parse(again.stdout)), ['organization', 'identity', 'token'])
  })

  describe('created with an invite', () => {
    async function invite(fields: Record<string, unknown> = {}): Promise<string> {
      const answer = await fetch(`${platform.url}/iam/v2beta1/groupInvites/${platform.owner.organization}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${platform.owner.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ roleUid: builtInRole('viewer').uid, ttl: '600s', ...fields }),
      })
      assert.equal(answer.status, 200, await answer.clone().text())
      return ((await answer.json()) as { code: string }).code
    }

    async function accept(code: string, email: string, chosen = password) {
      const visitor = new Visitor(platform.url)
      const begun = await begin(party, { invite: code })
      const page = await visitor.open(begun.url)
      const end = await visitor.submitTo(page, '/account', { email, password: chosen })
      return { begun, end, visitor }
    }

    const groupsOf = async (identity: string) => {
      const rows = await platform.store.query(
        sql`select parent from role_bindings where identity = ${identity} order by parent`,
      )
      return rows.map(([parent]) => parent)
    }

    test('are created only if the invite is accepted', async () => {
      const { begun, end } = await accept(await invite({ singleUse: true }), 'gil@example.com')
      const identity = (await redeem(party, begun, end)).claims()?.sub ?? ''
      assert.deepEqual(await groupsOf(identity), [platform.owner.organization])
      assert.equal(await subjectOf('gil@example.com'), identity)
      const wrong = await accept('no such code', 'hal@example.com')
      assert.equal(wrong.end.status, 400)
      assert.match(wrong.end.alert ?? '', /^The code is not the code of an invite/)
      for (const table of ['accounts', 'claimed_accounts']) {
        const rows = await platform.store.query(
          sql`select email from ${raw(table)} where email = 'hal@example.com'`,
        )
        assert.deepEqual(rows, [])
      }
      const people = await platform.store.query(
        sql`select uid from identities where name = 'hal@example.com'`,
      )
      assert.deepEqual(people, [])
    })

    test('cannot accept an invite for a certain address, because their own address is not verified', async () => {
      const code = await invite({ email: 'ivy@example.com' })
      for (const email of ['other@example.com', 'ivy@example.com', 'Ivy@example.com']) {
        const visitor = new Visitor(platform.url)
        const page = await visitor.open((await begin(party, { invite: code })).url)
        assert.ok(!page.forms.some(({ action }) => action.endsWith('/account')), 'the page does not offer it')
        const end = await visitor.post(`${page.url}/account`, { email, password })
        assert.equal(end.status, 400)
        assert.match(end.alert ?? '', /^The code is not the code of an invite/)
      }
    })

    test('can be reset by the operator, by their uid if several have the same address', async () => {
      const { begun, end } = await accept(await invite(), 'lea@example.com')
      const identity = (await redeem(party, begun, end)).claims()?.sub ?? ''
      const { stdout } = await operate('users', 'reset', 'lea@example.com')
      assert.match(stdout, new RegExp(`is ${identity}`))
      assert.equal((await choosePassword(linkIn(stdout))).status, 200)
      assert.equal(await subjectOf('lea@example.com'), identity)
      await accept(await invite(), 'lea@example.com', 'the password of somebody else')
      const ambiguous = await operate('users', 'reset', 'lea@example.com')
      assert.equal(ambiguous.code, 2)
      assert.ok(ambiguous.stderr.includes(identity), ambiguous.stderr)
      const again = await operate('users', 'reset', identity)
      const same = await choosePassword(linkIn(again.stdout), 'the password of somebody else')
      assert.equal(same.status, 400)
      assert.match(same.alert ?? '', /harder to guess/)
      assert.equal((await choosePassword(linkIn(again.stdout), 'yet another password')).status, 200)
    })

    test('lose their unverified address if the operator adds a person with this address', async () => {
      const { begun, end } = await accept(await invite(), 'boss@example.com', 'the password of a squatter')
      const squatter = (await redeem(party, begun, end)).claims()
      assert.equal(squatter?.email, undefined)
      const made = await operate('bootstrap', '--org', 'boss', '--owner', 'boss@example.com', '--json')
      const { identity, passwordLink } = JSON.parse(made.stdout)
      assert.notEqual(identity.uid, squatter?.sub)
      const visitor = new Visitor(platform.url)
      const page = await visitor.open((await begin(party)).url)
      const attempt = await visitor.submit(page, {
        email: 'boss@example.com',
        password: 'the password of a squatter',
      })
      assert.equal(attempt.status, 401)
      assert.equal((await choosePassword(passwordLink)).status, 200)
      assert.equal(await subjectOf('boss@example.com'), identity.uid)
    })

    test('are reused for the same address and password', async () => {
      const { begun, end } = await accept(await invite(), 'gil@example.com')
      const identity = (await redeem(party, begun, end)).claims()?.sub
      assert.equal(identity, await subjectOf('gil@example.com'))
    })

    test('are not created with a weak password or without an invite', async () => {
      const code = await invite()
      assert.equal((await accept(code, 'jon@example.com', 'short')).end.status, 400)
      const visitor = new Visitor(platform.url)
      const page = await visitor.open((await begin(party)).url)
      const action = `${page.forms[0]?.action}/account`
      const forms = [{ action, method: 'post', fields: {} }]
      const end = await visitor.submit({ ...page, forms }, { email: 'jon@example.com', password })
      assert.equal(end.status, 400)
    })

    test('are not created for a person who has an account and accepts the invite with its password or session', async () => {
      const identity = await addAccount(platform, 'kay@example.com')
      const { end, visitor } = await signIn(platform, 'kay@example.com', { invite: await invite() })
      assert.match(end.url, /code=/)
      assert.deepEqual(await groupsOf(identity), [platform.owner.organization])
      await platform.unbind(identity)
      const page = await visitor.open(
        (await begin(party, { invite: await invite({ email: 'kay@example.com' }) })).url,
      )
      await visitor.submitTo(page, '/continue')
      assert.deepEqual(await groupsOf(identity), [platform.owner.organization])
    })
  })
})
