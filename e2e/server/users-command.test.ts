// `stemmad users` and `stemmad operators`.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../../server/store/sql.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { sealedEvents } from '../../server/testing/sealed-events.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { addAccount, signIn, startSignInPlatform } from '../sign-in/sign-in.ts'
import { runStemmadInline } from './stemmad.ts'

onEachStore('stemmad users and operators', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await startSignInPlatform(engine)
  })
  after(() => platform.stop())

  function stemmad(...args: string[]) {
    const { dataDir, baseUrl, databaseUrl, secretKey } = platform.config
    const storeFlags = databaseUrl ? ['--database-url', databaseUrl, '--secret-key', secretKey ?? ''] : []
    return runStemmadInline([...args, '--data-dir', dataDir, '--base-url', baseUrl, ...storeFlags])
  }
  const users = (...args: string[]) => stemmad('users', ...args)
  const operators = (...args: string[]) => stemmad('operators', ...args)

  test('lists people, and searches them by a part of the address', async () => {
    const ada = await addAccount(platform, 'ada@example.com')
    const bob = await addAccount(platform, 'bob_b@example.com')
    await users('disable', 'bob_b@example.com')
    const { stdout } = await users('list')
    assert.match(stdout, new RegExp(`^${ada}  ada@example\\.com$`, 'm'))
    assert.match(stdout, new RegExp(`^${bob}  bob_b@example\\.com  disabled since 20\\S+Z$`, 'm'))
    assert.equal((await users('list', 'ADA@')).stdout, `${ada}  ada@example.com\n`)
    assert.match((await users('list', 'bob_')).stdout, new RegExp(`^${bob} .*\\n$`))
    assert.equal((await users('list', 'b_b_')).stdout, '', '_ has no special meaning')
    for (const args of [[], ['bob_']])
      assert.match((await users('disabled', ...args)).stdout, new RegExp(`^${bob} .*\\n$`))
    assert.equal((await users('disabled', 'ada')).stdout, '')
    const misused = await users('list', '--password-file', '-')
    assert.deepEqual([misused.code, /only for add and reset/.test(misused.stderr)], [2, true])
  })

  test('removes a person with their roles, tokens and account', async () => {
    const identity = await addAccount(platform, 'cyd@example.com')
    await platform.bind(identity, 'owner', platform.owner.organization)
    const { tokens } = await signIn(platform, 'cyd@example.com')
    assert.equal((await users('remove', 'cyd@example.com')).stdout, `cyd@example.com is ${identity}\n`)
    const headers = { authorization: `Bearer ${tokens.access_token}` }
    assert.equal((await fetch(`${platform.url}/auth/v1/ok`, { headers })).status, 401)
    const bindings = await platform.store.query(
      sql`select uid from role_bindings where identity = ${identity}`,
    )
    assert.deepEqual(bindings, [])
    const again = await users('remove', 'cyd@example.com')
    assert.deepEqual([again.code, /no one signs in with/.test(again.stderr)], [2, true])
  })

  test('disables a person, whom stemmad bootstrap then refuses as an owner, without creating an organization', async () => {
    const identity = await addAccount(platform, 'kim@example.com')
    await users('disable', identity)
    const organizations = () => platform.store.query(sql`select uid from groups where uid not like '%/%'`)
    const [before, eventsBefore] = [await organizations(), await sealedEvents(platform.store, identity)]
    for (const args of [
      ['bootstrap', '--org', 'kim', '--owner', 'kim@example.com'],
      ['token', identity],
    ]) {
      const { code, stdout, stderr } = await stemmad(...args)
      assert.deepEqual([code, stdout], [2, ''], stderr)
      assert.equal(stderr, 'this account is disabled; ask the operator of this server\n')
    }
    assert.deepEqual(await organizations(), before)
    assert.equal((await sealedEvents(platform.store, identity)).length, eventsBefore.length)
  })

  test('deletes the second factors of a person, and nothing else', async () => {
    const identity = await addAccount(platform, 'dee@example.com')
    await platform.store.write(function* () {
      yield sql`insert into passkeys (id, identity, name, public_key, counter, transports, is_synced, create_time)
        values ('key', ${identity}, 'laptop', ${Buffer.from('k')}, 0, '', 0, 0)`
      yield sql`insert into authenticator_apps (identity, sealed, last_step, create_time, confirm_time)
        values (${identity}, ${Buffer.from('s')}, 0, 0, 1)`
      yield sql`insert into recovery_codes (identity, digest) values (${identity}, 'd')`
    })
    assert.match((await users('list', 'dee@')).stdout, /second factor/)
    assert.equal((await users('reset-second-factors', 'dee@example.com')).code, 0)
    for (const table of [sql`passkeys`, sql`authenticator_apps`, sql`recovery_codes`])
      assert.deepEqual(
        await platform.store.query(sql`select identity from ${table} where identity = ${identity}`),
        [],
      )
    await signIn(platform, 'dee@example.com')
  })

  test('records a password reset and a sign-out in the log of the person, without the reset link', async () => {
    const identity = await addAccount(platform, 'eve@example.com')
    const { stdout } = await users('reset', 'eve@example.com')
    const code = /code=(\S+)/.exec(stdout)?.[1] ?? ''
    assert.notEqual(code, '')
    await users('sign-out', identity)
    const events = (await sealedEvents(platform.store, identity)).filter(({ kind }) => kind === 'accounts')
    assert.deepEqual(
      events.map(({ action, method, actor }) => [action, method, actor]),
      [
        ['password-reset', 'stemmad users reset', ''],
        ['signed-out', 'stemmad users sign-out', ''],
      ],
    )
    assert.ok(!JSON.stringify(events).includes(code))
  })

  test('adds and removes operators', async () => {
    const fay = await addAccount(platform, 'fay@example.com')
    const gus = await addAccount(platform, 'gus@example.com')
    for (const person of ['Fay@Example.com', gus, gus]) assert.equal((await operators('add', person)).code, 0)
    const both = `${fay}  fay@example.com\n${gus}  gus@example.com\n`
    assert.equal((await operators('list')).stdout, both)
    assert.equal((await operators('remove', 'gus@example.com')).code, 0)
    assert.match((await operators('remove', gus)).stderr, /is not an operator/)
    await users('remove', 'fay@example.com')
    assert.equal((await operators('list')).stdout, '')
    const events = (await sealedEvents(platform.store, gus)).filter(({ kind }) => kind === 'accounts')
    assert.deepEqual(
      events.map(({ action, method }) => [action, method]),
      [
        ['operator-added', 'stemmad operators add'],
        ['operator-removed', 'stemmad operators remove'],
      ],
    )
  })

  test('refuses to add an operator without a verified address', async () => {
    const { organization, identity: workload } = platform.owner
    const claimant = await addAccount(platform, 'hal@example.com')
    await platform.store.write(function* () {
      yield sql`delete from accounts where identity = ${claimant}`
      yield sql`insert into claimed_accounts (identity, email, password) values (${claimant}, 'ida@example.com', 'x')`
    })
    for (const person of ['ida@example.com', claimant, workload, organization, 'nobody@example.com', 'x', ''])
      assert.equal((await operators('add', person)).code, 2, person)
    for (const args of [[], ['list', 'x'], ['add', 'a@example.com', 'b@example.com']])
      assert.match((await operators(...args)).stderr, /^Usage: stemmad operators/)
    assert.equal((await operators('list')).stdout, '')
  })
})
