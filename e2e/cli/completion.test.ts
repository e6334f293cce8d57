// Completion with names from a real server, in this process and with the generated scripts in the installed shells.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { groups } from '../../server/resources/iam/groups/table.ts'
import { identities } from '../../server/resources/iam/identities/table.ts'
import { createMany } from '../../server/testing/create-many.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { bundledProgram } from './bundled-program.ts'
import type { Client } from './client.ts'
import { openClient } from './client.ts'
import { noTerminalReason } from './terminal.ts'

const skipReason = (shell: string) =>
  spawnSync(shell, ['-c', 'exit 0']).status === 0 ? false : `${shell} is not installed`

describe('completion', () => {
  let platform: Platform
  let client: Client
  before(async () => {
    platform = await startPlatform('sqlite')
    client = await openClient('inline')
    const folder = join(client.home, 'bin')
    const program = await bundledProgram()
    await mkdir(folder)
    await writeFile(join(folder, 'stemma'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`)
    await chmod(join(folder, 'stemma'), 0o755)
    for (const name of ['team a', 'team-b'])
      await client.run(['groups', 'create', '--parent', 'acme', '--name', name], '', env())
    const { stdout } = await client.run(['completion', 'bash'])
    await writeFile(bashScript(), stdout)
  })
  after(async () => {
    await platform.stop()
    await client.remove()
  })

  const bashScript = () => join(client.home, 'completion.bash')

  const env = () => ({
    PATH: `${join(client.home, 'bin')}:${process.env.PATH}`,
    HOME: client.home,
    STEMMA_API: platform.url,
    STEMMA_TOKEN: platform.owner.token,
  })

  async function complete(...words: string[]): Promise<string[]> {
    const { code, stdout, stderr } = await client.run(['__complete', '--', ...words], '', env())
    assert.deepEqual([code, stderr], [0, ''])
    return stdout.split('\n').slice(0, -1)
  }

  test('completes commands, flags and values', async () => {
    assert.deepEqual(await complete('gro'), ['group-access-requests', 'group-invites', 'groups'])
    assert.deepEqual(await complete('groups', 't'), ['tree'])
    assert.deepEqual(await complete('who'), ['whoami'])
    assert.deepEqual(await complete('help', 'comp'), ['completion'])
    assert.deepEqual(await complete('subscriptions', 'deliveries', '--state', 'f'), ['failed'])
    assert.deepEqual(await complete('audit', 't'), ['tail'])
    assert.deepEqual(await complete('auth', 'login', '--de'), ['--device'])
    assert.deepEqual(await complete('auth', 'token', '--de'), [])
    assert.deepEqual(await complete('access', 'check', 'repo.cr'), ['repo.create'])
    assert.deepEqual(await complete('access', 'check', '--kind', 'ta'), ['tags'])
    assert.deepEqual(await complete('access', 'check', '--kind=ta'), ['--kind=tags'])
    assert.deepEqual(await complete('access', 'check', '--kind=tags', 'repo.cr'), ['repo.create'])
    assert.deepEqual(await complete('access', 'check', '--context', ''), [])
    assert.deepEqual(await complete('groups', 'list', '--context', ''), [])
    assert.deepEqual(await complete('whoami', '-o', 'j'), ['json'])
    assert.deepEqual(await complete('whoami', '--output=j'), ['--output=json'])
    assert.deepEqual(await complete('images', 'tree', '--de'), [
      '--depth\tNumber of levels below the image',
      '--debug',
    ])
    assert.deepEqual(await complete('groups', 'list', '--desc'), [
      '--descendants-of\tOnly resources below this group, at any depth',
    ])
    assert.deepEqual(await complete('advisories', 'list', '--latest-event-type', 'fix'), [
      'fixed',
      'fix-not-planned',
    ])
    assert.deepEqual(await complete('advisories', 'list', '--latest-event-type=fixe'), [
      '--latest-event-type=fixed',
    ])
    assert.deepEqual(await complete('groups', 'list', '--order-by', 'name'), ['name', 'name desc'])
    assert.deepEqual(await complete('groups', 'list', '-o', 'j'), ['json'])
    assert.deepEqual(await complete('groups', 'create', '-f', ''), [':files'])
    assert.deepEqual(await complete('help', 'exi'), ['exit-codes'])
    assert.deepEqual(await complete('nothing', 'here', ''), [])
  })

  test('completes names from the server, level by level', async () => {
    assert.deepEqual(await complete('groups', 'get', 'a'), ['acme', 'acme/team a', 'acme/team-b'])
    assert.deepEqual(await complete('groups', 'get', 'acme/'), ['acme/team a', 'acme/team-b'])
    assert.deepEqual(await complete('groups', 'list', '--children-of', 'acme/team-'), ['acme/team-b'])
    assert.deepEqual(await complete('groups', 'tree', '--depth', '1', 'acme/team-'), ['acme/team-b'])
    assert.deepEqual(await complete('access', 'check', 'repo.list', 'acme/team-'), ['acme/team-b'])
    assert.deepEqual(await complete('role-bindings', 'create', '--role', 'view'), [
      'viewer\tViewer Role (built-in)',
    ])
  })

  test('finds names that are not on the first page of a list', async () => {
    const { token, organization } = await platform.addOrganization('crowd')
    const now = Date.now()
    const uidOf = (index: number) => `${organization}/${String(index).padStart(16, '0')}`
    const teams = Array.from(
      { length: 300 },
      (_, index) => [create(GroupSchema, { name: `team-${index}` }), { uid: uidOf(index), now }] as const,
    )
    const robots = Array.from(
      { length: 300 },
      (_, index) =>
        [
          create(IdentitySchema, { name: `robot-${index}`, description: 'Robot' }),
          { uid: uidOf(1000 + index), now },
        ] as const,
    )
    await platform.store.write(function* () {
      yield* createMany(groups, teams)
      yield* createMany(identities, robots)
    })
    const completeInCrowd = async (...words: string[]) => {
      const own = { ...env(), STEMMA_TOKEN: token }
      return (await client.run(['__complete', '--', ...words], '', own)).stdout
    }
    assert.equal(await completeInCrowd('groups', 'get', 'crowd/team-299'), 'crowd/team-299\n')
    assert.equal(await completeInCrowd('groups', 'get', 'crowd/eam-299'), '')
    assert.equal(await completeInCrowd('groups', 'get', 'team-299'), '')
    assert.equal(await completeInCrowd('identities', 'get', 'robot-299'), 'robot-299\tRobot\n')
  })

  test('completes names from the server that a flag selects', async () => {
    const elsewhere = { ...env(), STEMMA_API: 'http://127.0.0.1:1' }
    for (const flags of [['--api', platform.url], [`--api=${platform.url}`]]) {
      const words = ['groups', 'get', ...flags, 'acme/team-']
      const { stdout } = await client.run(['__complete', '--', ...words], '', elsewhere)
      assert.equal(stdout, 'acme/team-b\n', flags.join(' '))
    }
  })

  test('completes nothing without a server or a sign-in', async () => {
    for (const wrong of [{ STEMMA_API: 'http://127.0.0.1:1' }, { STEMMA_TOKEN: 'no.token.here' }]) {
      const ended = await client.run(['__complete', '--', 'groups', 'get', ''], '', { ...env(), ...wrong })
      assert.deepEqual(ended, { code: 0, stdout: '', stderr: '' })
    }
  })

  test('uses the stored access token until it expires, and does not refresh it', async () => {
    const audience = platform.config.baseUrl
    const folder = client.tokenFolder(audience)
    await mkdir(folder, { recursive: true })
    let requestCount = 0
    const issuer = createServer((_, response) => {
      requestCount++
      response.writeHead(503).end()
    })
    await once(issuer.listen(0, '127.0.0.1'), 'listening')
    const { port } = issuer.address() as AddressInfo
    const flags = ['--audience', audience, '--issuer', `http://127.0.0.1:${port}`]
    const completeWith = async (token: string) => {
      await writeFile(join(folder, 'oidc-token'), token)
      await writeFile(join(folder, 'refresh-token'), 'refresh token')
      const args = ['__complete', '--', 'groups', 'get', ...flags, 'acme/team-']
      return client.run(args, '', { ...env(), STEMMA_TOKEN: '' })
    }
    try {
      const { token, identity } = platform.owner
      assert.deepEqual(await completeWith(token), { code: 0, stdout: 'acme/team-b\n', stderr: '' })
      const expired = await platform.tokenOf(identity, Date.now() - 7_200_000)
      assert.deepEqual(await completeWith(expired), { code: 0, stdout: '', stderr: '' })
    } finally {
      issuer.close()
    }
    assert.equal(requestCount, 0)
  })

  async function inShell(shell: string, args: string[], script: string): Promise<string> {
    const child = spawn(shell, [...args, '-c', script], { env: env(), stdio: ['ignore', 'pipe', 'pipe'] })
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    assert.equal(stderr, '')
    return stdout
  }

  describe('in bash', { skip: skipReason('bash') }, () => {
    /** The candidates that bash offers for the last word. */
    async function candidates(...words: string[]): Promise<string[]> {
      const quoted = ['stemma', ...words].map((word) => `'${word}'`).join(' ')
      const script = `source '${bashScript()}'
compopt() { :; }
COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}
_stemma
for candidate in "\${COMPREPLY[@]}"; do echo "$candidate"; done`
      return (await inShell('bash', ['--norc'], script)).split('\n').slice(0, -1)
    }

    test('is registered for the command', async () =>
      assert.equal(
        await inShell('bash', ['--norc'], 'source <(stemma completion bash); complete -p stemma'),
        'complete -F _stemma stemma\n',
      ))

    test('completes commands, flags and values', async () => {
      assert.deepEqual(await candidates('gro'), ['group-access-requests', 'group-invites', 'groups'])
      assert.deepEqual(await candidates('groups', 'list', '--desc'), ['--descendants-of'])
      // Bash passes `--latest-event-type=fixe` as three words.
      assert.deepEqual(await candidates('advisories', 'list', '--latest-event-type', '=', 'fixe'), ['fixed'])
    })

    test('quotes names with spaces', async () =>
      assert.deepEqual(await candidates('groups', 'get', 'acme/te'), ['acme/team\\ a', 'acme/team-b']))

    test('continues a quoted name', async () =>
      assert.deepEqual(await candidates('groups', 'get', 'acme/team\\ '), ['acme/team\\ a']))

    test('works with the tab key, and adds a space only after a group with no groups below it', {
      skip: noTerminalReason,
    }, async () => {
      const screen = await typeInBash('stemma groups tre\t acm\t/team-\t--dep\t 0\r')
      assert.match(screen, /ready> stemma groups tree {2}acme\/team-b --depth {2}0\nteam-b\n/)
    })

    test('completes files for flags that take a file', async () => {
      await writeFile(join(client.home, 'group.yaml'), '')
      assert.deepEqual(await candidates('groups', 'create', '-f', `${client.home}/gro`), [
        `${client.home}/group.yaml`,
      ])
    })

    test('completes files right after the = of a flag', { skip: noTerminalReason }, async () => {
      const folder = join(client.home, 'one-file')
      await mkdir(folder)
      await writeFile(join(folder, 'only.yaml'), '')
      const screen = await typeInBash('stemma groups create --file=\t\r', folder)
      assert.match(screen, /stemma groups create --file=only\.yaml/)
    })
  })

  /**
   * Runs bash in a folder, with a pseudo-terminal, types `keys` at the first prompt and `exit` at the second, and returns
   * the screen.
   */
  async function typeInBash(keys: string, folder = process.cwd()): Promise<string> {
    const rc = join(client.home, 'rc')
    const settings = "PS1='ready> '; bind 'set enable-bracketed-paste off'; bind 'set bell-style none'"
    await writeFile(rc, `${settings}; source '${bashScript()}'`)
    const line = `bash --noprofile --rcfile '${rc}' -i`
    const child = spawn('script', ['-qefc', line, '/dev/null'], {
      cwd: folder,
      env: { ...env(), SHELL: '/bin/sh', TERM: 'dumb', COLUMNS: '200' },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    let screen = ''
    let promptCount = 0
    child.stdout.on('data', (chunk) => {
      screen += chunk
      const newCount = screen.split('ready> ').length - 1
      if (newCount > promptCount) child.stdin.write(newCount === 1 ? keys : 'exit\r')
      promptCount = newCount
    })
    await once(child, 'close')
    child.stdin.destroy()
    return screen.replaceAll('\r\n', '\n')
  }

  describe('in zsh', { skip: skipReason('zsh') }, () => {
    test('loads the script', async () =>
      assert.match(
        await inShell(
          'zsh',
          ['-f'],
          'autoload -U compinit; compinit -D -u; source <(stemma completion zsh); echo $_comps[stemma]',
        ),
        /_stemma/,
      ))
  })

  describe('in fish', { skip: skipReason('fish') }, () => {
    test('completes commands', async () =>
      assert.match(
        await inShell(
          'fish',
          ['--no-config'],
          'stemma completion fish | source; complete -C "stemma groups t"',
        ),
        /^tree/m,
      ))
  })
})
