// `stemmad` as an operator uses it. Each kind of result comes from a real process at least once. The other cases run in
// the process of the tests, because starting a process takes half a second of CPU time.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { Bootstrapped, RunningServer } from './stemmad.ts'
import {
  bootstrap,
  dataDirFlags,
  remove,
  runStemmad,
  runStemmadInline,
  serve,
  statusOf,
  temporaryFolder,
} from './stemmad.ts'

const timeout = { timeout: 600_000 }

describe('a server and its administration commands', timeout, () => {
  let folder: string
  let server: RunningServer
  let first: Bootstrapped
  before(async () => {
    folder = await temporaryFolder()
    server = await serve(folder)
    first = await bootstrap(folder)
  })
  after(async () => {
    server.signal('SIGINT')
    await server.exited
    await remove(folder)
  })

  const runInline = (...args: string[]) => runStemmadInline([...args, ...dataDirFlags(folder)])

  const list = (token: string) =>
    fetch(`${server.url}/iam/v2beta1/groups`, { headers: { authorization: `Bearer ${token}` } })

  test('the start prints the address, the data folder and the next command', () => {
    assert.match(server.greeting, /Stemma serves http:\/\/stemma\.test /)
    assert.match(server.greeting, /on 127\.0\.0\.1:\d+/)
    assert.match(server.greeting, /\.\/data/)
    assert.match(server.greeting, /npx @stemma\/server bootstrap --org/)
    assert.match(server.greeting, /http:\/\/stemma\.test\/set-up\?code=[\w-]{32}\n/)
  })

  test('the server is alive and ready', async () => {
    assert.equal(await statusOf(`${server.url}/healthz`), 200)
    assert.equal(await statusOf(`${server.url}/readyz`), 200)
  })

  test('bootstrap creates an organization and a token that works at once', async () => {
    assert.deepEqual(Object.keys(first), ['organization', 'identity', 'token'])
    assert.equal(first.organization.name, 'acme')
    const answer = await list(first.token)
    assert.equal(answer.status, 200)
    assert.match(await answer.text(), new RegExp(`"uid":"${first.organization.uid}"`))
  })

  test('verify marks an organization as owner of its domain, and requires a domain name', async () => {
    const run = (...args: string[]) => runInline('verify', ...args)
    const notDomain = await run(first.organization.uid)
    assert.equal(notDomain.code, 2)
    assert.match(notDomain.stderr, /such as example\.com; this one is "acme"/)
    const [original, namesake] = [
      await bootstrap(folder, '--org', 'acme.example.com'),
      await bootstrap(folder, '--org', 'acme.example.com'),
    ]
    const domain = 'acme.example.com'
    const withoutDomain = await run(original.organization.uid)
    assert.equal(withoutDomain.code, 2)
    assert.match(withoutDomain.stderr, /the organization is named acme\.example\.com; if it owns this domain/)
    const wrongDomain = await run(original.organization.uid, 'bigbank.example.com')
    assert.equal(wrongDomain.code, 2)
    assert.match(wrongDomain.stderr, /is named "acme\.example\.com", not bigbank\.example\.com/)
    const verified = await run(original.organization.uid, domain, '--kind', 'customer')
    assert.equal(verified.stdout, 'acme.example.com is verified.\n')
    const taken = await run(namesake.organization.uid, domain)
    assert.deepEqual([taken.code, taken.stderr], [2, 'another organization with this name is verified\n'])
    const path = `${server.url}/iam/v2beta1/groups/${original.organization.uid}`
    const answer = await fetch(path, { headers: { authorization: `Bearer ${original.token}` } })
    const group = (await answer.json()) as { verified: boolean; kind: string }
    assert.deepEqual([group.verified, group.kind], [true, 'ORG_KIND_CUSTOMER'])
    assert.equal(
      (await run(original.organization.uid, '--undo')).stdout,
      'acme.example.com is no longer verified.\n',
    )
    assert.equal((await run(namesake.organization.uid, domain)).code, 0)
    for (const args of [
      [],
      ['x'],
      ['0'.repeat(40)],
      [original.organization.uid, domain, '--kind', 'huge'],
      [original.organization.uid, domain, '--kind', 'constructor'],
    ])
      assert.equal((await run(...args)).code, 2, args.join(' '))
  })

  test('bootstrap without --json prints the same as text', async () => {
    const { code, stdout } = await runStemmad(folder, [
      'bootstrap',
      '--org',
      'other',
      '--base-url',
      'http://stemma.test',
    ])
    assert.equal(code, 0)
    assert.match(stdout, /^Organization other\n {2}uid {4}[0-9a-f]{40}\n/)
    const [, token = ''] = /export TOKEN=(\S+)/.exec(stdout) ?? []
    assert.equal((await list(token)).status, 200)
  })

  test('bootstrap --owner reuses the person with that address', async () => {
    const [one, two] = [
      await bootstrap(folder, '--owner', 'ada@example.com'),
      await bootstrap(folder, '--owner', 'ada@example.com'),
    ]
    assert.equal(one.identity.uid, two.identity.uid)
    assert.notEqual(one.organization.uid, two.organization.uid)
    assert.match(await (await list(two.token)).text(), /"totalCount":"2"/)
  })

  test('token prints a new token', async () => {
    const result = await runStemmad(folder, ['token', first.identity.uid, '--base-url', 'http://stemma.test'])
    assert.equal(result.code, 0)
    assert.equal((await list(result.stdout.trim())).status, 200)
  })

  test('token refuses an unknown identity and wrong arguments', async () => {
    const wrong = [[], ['x'], ['a'.repeat(40)], [first.identity.uid, 'more']]
    const results = await Promise.all(wrong.map((args) => runInline('token', ...args)))
    for (const { code, stdout, stderr } of results) {
      assert.equal(code, 2)
      assert.equal(stdout, '')
      assert.match(stderr, /Usage: stemmad token|there is no identity/)
    }
  })

  test('commands refuse arguments and flags that they do not have', async () => {
    for (const args of [
      ...[
        ['check', 'repair'],
        ['migrate', 'x'],
        ['bootstrap', 'acme', '--org', 'acme'],
        ['serve', 'x'],
      ],
      ...[
        ['audit', 'list', '--heads'],
        ['audit', 'list', '--compare', 'heads.txt'],
      ],
    ]) {
      const { code, stdout, stderr } = await runInline(...args)
      assert.deepEqual([code, stdout], [2, ''], args.join(' '))
      assert.ok(stderr.startsWith(`Usage: stemmad ${args[0]}`), stderr)
    }
  })

  test('migrate and check report that nothing needs to be done', async () => {
    const migrated = await runStemmad(folder, ['migrate'])
    assert.deepEqual([migrated.code, migrated.stdout], [0, 'The store is up to date.\n'])
    const checked = await runInline('check')
    assert.deepEqual([checked.code, checked.stdout], [0, 'All totals are correct.\n'])
  })

  test('a second server on the same port fails with a clear message', async () => {
    const { code, stderr } = await runStemmad(folder, ['serve', '--port', String(server.port)])
    assert.equal(code, 1)
    assert.match(stderr, /EADDRINUSE/)
    assert.match(stderr, /choose another one with PORT=… or --port/)
    assert.doesNotMatch(stderr, /^ {4}at /m)
  })
})

test(
  'a server that listens on all addresses without STEMMA_BASE_URL warns on the terminal and in the log',
  timeout,
  async () => {
    const folder = await temporaryFolder()
    const server = await serve(folder, ['--host', '0.0.0.0', '--base-url='])
    const warning = /HOST is 0\.0\.0\.0 but STEMMA_BASE_URL is not set: tokens are for the audience http:/
    try {
      assert.match(server.greeting, new RegExp(`^Warning: ${warning.source}`, 'm'))
    } finally {
      server.signal('SIGINT')
      await server.exited
    }
    const warnLevel = 40
    const warnings = server.log().filter(({ level }) => level === warnLevel)
    assert.equal(warnings.length, 1)
    assert.match(String(warnings[0]?.msg), warning)
    await remove(folder)
  },
)

describe('wrong settings and arguments', timeout, () => {
  let folder: string
  before(async () => {
    folder = await temporaryFolder()
  })
  after(() => remove(folder))

  test('every wrong setting is named in the error, and nothing is created', async () => {
    const env = {
      PORT: 'eighty',
      STEMMA_LOG_LEVEL: 'loud',
      STEMMA_BASE_URL: 'example.com/',
      DATABASE_URL: 'mysql://user:password@localhost/x',
      STEMMA_TLS_CERT: 'cert.pem',
    }
    const { code, stdout, stderr } = await runStemmad(folder, ['serve', '--drain-delay=-1'], env)
    assert.equal(code, 2)
    assert.equal(stdout, '')
    for (const name of [...Object.keys(env), 'STEMMA_DRAIN_DELAY'])
      assert.match(stderr, new RegExp(`- ${name}`))
    assert.doesNotMatch(stderr, /password|^ {4}at /m)
    assert.deepEqual(await readdir(folder), [])
  })

  test('an unknown flag is named in the error', async () => {
    const { code, stderr } = await runStemmadInline(['serve', '--prot', '1'])
    assert.equal(code, 2)
    assert.match(stderr, /--prot/)
  })

  test('a database that closes the connection is reported without its password', async () => {
    const database = createServer((socket) => socket.destroy())
    database.listen(0, '127.0.0.1')
    await once(database, 'listening')
    const { port } = database.address() as AddressInfo
    const env = {
      DATABASE_URL: `postgres://user:hush@127.0.0.1:${port}/x`,
      STEMMA_SECRET_KEY: 'x'.repeat(32),
    }
    const { code, stderr } = await runStemmad(folder, ['migrate'], env)
    database.close()
    assert.equal(code, 1)
    assert.notEqual(stderr, '')
    assert.doesNotMatch(stderr, /hush/)
  })

  test('a database that does not answer at any address of its host is reported with each address', async () => {
    const flags = ['--database-url', 'postgres://localhost:1/x', '--secret-key', 'x'.repeat(32)]
    const { code, stderr } = await runStemmadInline(['migrate', ...flags])
    assert.equal(code, 1)
    assert.match(stderr, /^stemmad: connect ECONNREFUSED \S+:1[\s\S]*\nNothing answers at this address/)
  })

  test('--help prints help for the program and for each command', async () => {
    const commandLines = [[], ['help'], ['--help'], ['-h'], ['serve', '--help'], ['bootstrap', '-h']]
    const results = await Promise.all(commandLines.map((args) => runStemmadInline(args)))
    for (const { code, stdout, stderr } of results) {
      assert.equal(code, 0)
      assert.equal(stderr, '')
      assert.match(stdout, /stemmad/)
      assert.match(stdout, /STEMMA_DATA_DIR, --data-dir/)
    }
  })

  test('an unknown command is refused with a list of the commands', async () => {
    const results = await Promise.all(
      ['sreve', '__proto__', 'constructor'].map((command) => runStemmadInline([command])),
    )
    for (const { code, stdout, stderr } of results) {
      assert.equal(code, 2)
      assert.equal(stdout, '')
      assert.match(stderr, /no command "(sreve|__proto__|constructor)"/)
      assert.match(stderr, /^ {2}serve +Serves/m)
    }
  })

  test('bootstrap refuses an invalid organization name or owner', async () => {
    const wrong = [[], ['--org', 'Not Allowed!'], ['--org', 'x', '--owner', 'nobody']]
    const results = await Promise.all(
      wrong.map((args) => runStemmadInline(['bootstrap', ...args, ...dataDirFlags(folder)])),
    )
    for (const { code, stdout, stderr } of results) {
      assert.equal(code, 2)
      assert.equal(stdout, '')
      assert.doesNotMatch(stderr, /^ {4}at /m)
    }
  })
})
