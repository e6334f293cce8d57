// The commands of `stemma account` against a real server, run in this process.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { resources } from '../../cli/contract/commands.ts'
import { insertPasskey } from '../../server/auth/second-factors/passkeys.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { appOf } from '../sign-in/second-factors.ts'
import { addAccount, password, signIn, startSignInPlatform } from '../sign-in/sign-in.ts'
import type { Client } from './client.ts'
import { openClient } from './client.ts'

const email = 'ada@example.com'

onEachStore('stemma account', (engine) => {
  let platform: Platform
  let client: Client
  let identity: string
  let token: string
  /** The verbs that the tests have run. */
  const verbs = new Set<string>()
  before(async () => {
    platform = await startSignInPlatform(engine)
    client = await openClient('inline')
    identity = await addAccount(platform, email)
    token = (await signIn(platform, email)).tokens.access_token
  })
  after(async () => {
    await platform.stop()
    await client.remove()
  })

  const run = (args: string[], input?: string) => {
    verbs.add(args[0] ?? '')
    return client.run(['account', ...args], input, { STEMMA_API: platform.url, STEMMA_TOKEN: token })
  }

  /** Runs a command that must succeed. */
  async function succeed(...args: string[]) {
    const ended = await run(args)
    assert.equal(ended.code, 0, `${args.join(' ')}: ${ended.stderr}`)
    return ended
  }

  const json = async (...args: string[]) => JSON.parse((await succeed(...args, '-o', 'json')).stdout)

  /** Runs a command that must fail with this exit code, and returns its standard error. */
  async function failure(code: number, ...args: string[]): Promise<string> {
    const ended = await run(args)
    assert.deepEqual([ended.code, ended.stdout], [code, ''], ended.stderr)
    return ended.stderr
  }

  test('get shows the account, and rename changes its name', async () => {
    assert.equal((await json('get')).uid, identity)
    assert.equal((await json('rename', '--name', 'On call')).name, 'On call')
    assert.match((await succeed('get')).stdout, /^name +On call$/m)
  })

  test('list-sessions shows the ids of sessions, and end-session ends them', async () => {
    for (let count = 0; count < 2; count++) await signIn(platform, email)
    const sessions = await json('list-sessions')
    const others: string[] = []
    for (const { id, current } of sessions) if (!current) others.push(id)
    const { stdout } = await succeed('list-sessions')
    for (const { id } of sessions) assert.ok(stdout.includes(id), stdout)
    const [first = '', ...rest] = others
    assert.match(await failure(2, 'end-session', '--', first), /use --yes to end 1 session\n$/)
    assert.match(await failure(2, 'end-session', '--yes'), /account end-session needs at least one id\n$/)
    assert.equal((await succeed('end-session', '--yes', '--', first)).stderr, 'Ended 1 session.\n')
    const ended = await succeed('end-session', '--yes', '--', ...rest)
    assert.equal(ended.stderr, `Ended ${rest.length} sessions.\n`)
    assert.equal((await json('list-sessions')).length, 1)
    assert.match(await failure(5, 'end-session', '--yes', '--', first), new RegExp(first))
    assert.match(
      (await succeed('end-session', '--help')).stdout,
      /^Usage: stemma account end-session SESSION_ID…/m,
    )
  })

  test('an authenticator app is set up, gets recovery codes, and is removed', async () => {
    const { secret } = await json('begin-authenticator-app')
    await succeed('confirm-authenticator-app', '--code', appOf(secret).codeAt(Date.now()))
    assert.equal((await json('make-recovery-codes')).codes.length, 10)
    assert.equal((await json('get')).authenticatorApp, true)
    assert.match(
      await failure(2, 'remove-authenticator-app'),
      /cannot ask for confirmation without a terminal; use --yes to remove the authenticator app\n$/,
    )
    assert.match(await failure(2, 'remove-authenticator-app', 'x', '--yes'), /accepts only flags, not "x"/)
    assert.equal(
      (await succeed('remove-authenticator-app', '--yes')).stderr,
      'Removed the authenticator app.\n',
    )
    assert.equal((await json('get')).authenticatorApp, false)
  })

  test('passkeys are renamed and removed by their ids', async () => {
    assert.ok(JSON.parse((await json('begin-passkey')).optionsJson).challenge)
    assert.match(
      await failure(2, 'register-passkey', '--name', 'Laptop', '--response-json', '{}'),
      /--response-json: must be the result of the browser call as JSON/,
    )
    // Base64url, so the first character may be a hyphen.
    const ids = ['Zm9v_1', '-Zm9v_2']
    await platform.store.write(function* () {
      for (const id of ids)
        yield* insertPasskey({
          ...{ id, identity, name: 'Laptop', publicKey: new Uint8Array(1), counter: 0, transports: [] },
          ...{ isSynced: false, createTime: Date.now(), useTime: undefined },
        })
    })
    assert.equal((await json('rename-passkey', 'Zm9v_1', '--name', 'Phone')).name, 'Phone')
    assert.match(
      await failure(2, 'rename-passkey', '--name', 'Phone'),
      /account rename-passkey needs the id of a passkey\n$/,
    )
    assert.match(await failure(2, 'rename-passkey', ...['x', 'y']), /accepts only one passkey; remove "y"/)
    assert.match(
      await failure(2, 'remove-passkey', '--yes', ...ids),
      /has no flag -Z; write -- before an id that starts with -; see stemma account remove-passkey --help/,
    )
    const removed = await succeed('remove-passkey', '--yes', '--', ...ids)
    assert.equal(removed.stderr, 'Removed 2 passkeys.\n')
    assert.deepEqual((await json('get')).passkeys ?? [], [])
  })

  test('change-password takes the passwords from flags, and end-sessions makes the token invalid', async () => {
    const newPassword = 'seven green bicycles in the rain'
    await succeed('change-password', '--current-password', password, '--new-password', newPassword)
    assert.equal((await succeed('end-sessions')).stderr, 'Done.\n')
    assert.match(await failure(3, 'get'), /^stemma: /)
  })

  test('every command was run', () => {
    const account = resources.find(({ name }) => name === 'account')
    for (const { verb } of account?.commands ?? []) assert.ok(verbs.has(verb), verb)
  })
})
