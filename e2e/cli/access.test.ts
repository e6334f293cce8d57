// `stemma access` against a real server, run in this process.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { Client } from './client.ts'
import { openClient } from './client.ts'

onEachStore('stemma access', (engine) => {
  let platform: Platform
  let client: Client
  let group: string
  before(async () => {
    platform = await startPlatform(engine)
    client = await openClient('inline')
    await succeed('groups create --parent acme --name platform')
    group = (await succeed('groups get acme/platform -o uid')).trim()
    await succeed('repos create --parent acme/platform --name app')
    const claims = '--claim-match.issuer https://login.example.com --claim-match.subject ci'
    await succeed(`identities create --parent acme --name ci ${claims}`)
    await succeed('role-bindings create --parent acme/platform --identity ci --role viewer')
  })
  after(async () => {
    await platform.stop()
    await client.remove()
  })

  const run = (line: string, token = platform.owner.token) =>
    client.run(line.split(' '), '', { STEMMA_API: platform.url, STEMMA_TOKEN: token })

  async function succeed(line: string): Promise<string> {
    const { code, stdout, stderr } = await run(line)
    assert.equal(code, 0, `${line}: ${stderr}`)
    return stdout
  }

  test('check prints yes or no, with an exit code for scripts', async () => {
    const questions: [line: string, code: number, stdout: string][] = [
      ['repo.create acme/platform', 0, 'yes\n'],
      ['repo.list acme/platform --identity ci', 0, 'yes\n'],
      ['repo.list acme/platform/app --identity acme/ci', 0, 'yes\n'],
      ['CAP_REPO_CREATE acme/platform --identity ci', 8, 'no\n'],
      ['repo.list acme --identity ci', 8, 'no\n'],
      ['GroupsService.GetGroup acme/platform --identity ci', 0, 'yes\n'],
      ['platform.iam.v2beta1.GroupsService.DeleteGroup acme/platform --identity ci', 8, 'no\n'],
      [`groups.list ${group} --identity ci`, 0, 'yes\n'],
      ['groups.list app --kind repos', 0, 'yes\n'],
    ]
    for (const [line, code, stdout] of questions)
      assert.deepEqual(await run(`access check ${line}`), { code, stdout, stderr: '' }, line)
    const { stdout } = await run('access check repo.create acme/platform --identity ci -o json')
    assert.equal(JSON.parse(stdout).allowed ?? false, false)
  })

  test('check reports a wrong question with another exit code', async () => {
    const questions: [line: string, code: number, message: RegExp][] = [
      ['repo.creat acme/platform', 2, /"repo\.creat" is not a known value; similar values: .*repo\.create/],
      [
        'GroupsService.GetGroop acme',
        2,
        /no method "GroupsService\.GetGroop"; did you mean GroupsService\.GetGroup\?/,
      ],
      [
        'repo.create acme/nothing',
        5,
        /no group, repo or identity is named "acme\/nothing", or you may not see it/,
      ],
      ['repo.create acme --identity nobody', 5, /there is no identity "nobody"/],
      ['repo.create acme --kind cars', 2, /--kind must be one of .*repos/],
      ['repo.create', 2, /stemma access check needs RESOURCE; see stemma access check --help/],
    ]
    for (const [line, code, message] of questions) {
      const ended = await run(`access check ${line}`)
      assert.deepEqual([ended.code, ended.stdout], [code, ''], line)
      assert.match(ended.stderr, message)
    }
    const stranger = await platform.addIdentity(platform.owner.organization)
    const refused = await run(
      `access check groups.list ${group} --identity ${platform.owner.identity}`,
      stranger.token,
    )
    assert.equal(refused.code, 4)
    assert.equal((await run(`access check groups.list ${group}`, stranger.token)).code, 8)
  })

  test('a role can be granted for some hours, and check shows when it ends', async () => {
    const grant =
      'role-bindings create --parent acme --identity ci --role editor --expire-time 8h --reason drill'
    const { expireTime, reason, uid } = JSON.parse(await succeed(`${grant} -o json`))
    assert.equal(reason, 'drill')
    assert.equal(await succeed('access check repo.create acme --identity ci'), `yes, until ${expireTime}\n`)
    const table = await succeed('role-bindings list --group acme -o wide')
    assert.match(table, new RegExp(`^ci +editor .*${expireTime} .*drill .*${uid}$`, 'm'))
    await succeed(`role-bindings delete --yes ${uid}`)
    const past = await run(grant.replace('8h', '2020-01-31'))
    assert.deepEqual([past.code, past.stdout], [2, ''])
    assert.match(past.stderr, /^stemma: --expire-time: /)
    assert.match(
      (await run(grant.replace('8h', 'soon'))).stderr,
      /^stemma: --expire-time: must be a time such as /,
    )
  })

  test('who-can lists everyone who may do something, with the role and the group that allow it', async () => {
    const rowsOf = (table: string) =>
      table.split('\n').map((row) => row.split(/ {2,}/).slice(0, 4).join(' | '))
    assert.deepEqual(rowsOf(await succeed('access who-can repo.list acme/platform/app')), [
      'IDENTITY | ROLE | GROUP | INHERITED',
      'ci | viewer | platform | yes',
      'owner | owner | acme | yes',
      '',
    ])
    assert.deepEqual(rowsOf(await succeed('access who-can GroupsService.DeleteGroup acme/platform')), [
      'IDENTITY | ROLE | GROUP | INHERITED',
      'owner | owner | acme | yes',
      '',
    ])
    const entries = JSON.parse(await succeed('access who-can repo.list acme/platform --all -o json'))
    assert.deepEqual(
      entries.map(({ role }: { role: { name: string } }) => role.name),
      ['viewer', 'owner'],
    )
    for (const question of ['who-can repo.list acme/platform', 'reach ci']) {
      const all = await succeed(`access ${question} --all -o json`)
      assert.equal(await succeed(`access ${question} --all --page-size 1 -o json`), all)
    }
    const unclear = await run('access who-can PingService.Ping acme')
    assert.match(unclear.stderr, /PingService\.Ping needs no capability; name one capability instead/)
    const unknown = await run('access who-can platform.iam.Groups.Create acme')
    assert.match(
      unknown.stderr,
      /it is not known what platform\.iam\.Groups\.Create needs; name one capability instead/,
    )
  })

  test('reach lists where an identity has roles', async () => {
    const own = await succeed('access reach')
    assert.match(own, /^owner +owner +acme /m)
    assert.match(await succeed('access reach ci'), /^ci +viewer +platform /m)
    const none = await run('access reach ci --capability repo.create')
    assert.deepEqual([none.code, none.stdout, none.stderr], [0, '', 'No access.\n'])
    assert.match(await succeed('access --help'), /\n {2}reach \[IDENTITY\] /)
    assert.doesNotMatch(await succeed('access --help'), /list-reach/)
  })

  test('explain draws the way to the resource with the roles on it', async () => {
    const allowed = await succeed('access explain repo.list acme/platform/app --identity ci')
    const app = (await succeed('repos list --name app -o uid')).trim().split('/').at(-1)
    assert.equal(
      allowed,
      [
        'yes: ci may do repo.list at acme/platform/app',
        '',
        'acme',
        '└── platform  viewer (gives repo.list)',
        `    └── ${app}`,
        '',
        'repo.list: held',
        '',
      ].join('\n'),
    )
    const missing = await succeed('access explain repo.create acme/platform --identity ci')
    assert.match(missing, /^no: ci may not do repo\.create at acme\/platform\n\nacme\n/)
    assert.match(missing, /\n└── platform {2}viewer \(lacks repo\.create\)\n/)
    assert.match(missing, /\nrepo\.create: missing: no role on this path has it\n/)
    assert.match(missing, new RegExp(`\\nWho could grant one: owner \\(${platform.owner.identity}\\)\\n`))
    const { path } = JSON.parse(await succeed('access explain repo.create acme/platform -o json'))
    assert.equal(path.length, 2)
  })

  test('a refused call names the missing capability, the place and the command that explains it', async () => {
    const viewer = await platform.addIdentity(group, 'viewer')
    const refused = await run(`repos create --parent ${group} --name other`, viewer.token)
    assert.equal(refused.code, 4)
    const [message, ...hints] = refused.stderr.split('\n')
    assert.match(message ?? '', /^stemma: Permission denied: repo\.create denied on resource /)
    assert.deepEqual(hints, [
      '  missing capability: repo.create',
      `  place: platform (${group})`,
      `  to see why: stemma access explain repo.create ${group}`,
      '',
    ])
    const { organization } = platform.owner
    const hidden = await run(`groups get ${organization} --api ${platform.url}`, viewer.token)
    assert.match(hidden.stderr, new RegExp(`\n  place: ${organization}\n`))
    assert.match(hidden.stderr, new RegExp(`groups\\.list ${organization} --api '${platform.url}/'\n$`))
  })
})
