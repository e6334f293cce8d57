// The resource commands of `stemma` against a real server, run in this process. process.test.ts
// covers behaviour that needs a separate process.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { clone, create } from '@bufbuild/protobuf'
import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { parse } from 'yaml'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { createAdvisory } from '../../server/resources/vulnerabilities/advisories/write.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { Client, ExitResult } from './client.ts'
import { openClient } from './client.ts'

type Row = Record<string, unknown> & { uid: string; name: string }

onEachStore('stemma', (engine) => {
  let platform: Platform
  let client: Client
  before(async () => {
    platform = await startPlatform(engine)
    client = await openClient('inline')
    for (const name of ['platform', 'research']) await json('groups create --parent acme --name', name)
    await json('groups create --parent acme/platform --name', 'staging')
  })
  after(async () => {
    await platform.stop()
    await client.remove()
  })

  const env = (token = platform.owner.token) => ({ STEMMA_API: platform.url, STEMMA_TOKEN: token })
  const run = (args: string[], input?: string, token?: string): Promise<ExitResult> =>
    client.run(args, input, env(token))

  /** Splits a line at spaces into arguments, and appends arguments that may contain spaces themselves. */
  const split = (line: string, furtherArgs: string[]) => [...line.split(' '), ...furtherArgs]

  /** Runs a command that must succeed, and returns its standard output. */
  async function succeed(line: string, ...furtherArgs: string[]): Promise<string> {
    const { code, stdout, stderr } = await run(split(line, furtherArgs))
    assert.equal(code, 0, `${line}: ${stderr}`)
    return stdout
  }

  /** Runs a command that must succeed, and returns the JSON that it prints. */
  const json = async (line: string, ...furtherArgs: string[]): Promise<Row> =>
    JSON.parse(await succeed(line, ...furtherArgs, '-o', 'json'))

  /** Runs a command that must fail with this exit code, and returns its standard error. */
  async function failure(code: number, line: string, ...furtherArgs: string[]): Promise<string> {
    const ended = await run(split(line, furtherArgs))
    assert.deepEqual([ended.code, ended.stdout], [code, ''], ended.stderr)
    assert.match(ended.stderr, /^stemma: /)
    assert.doesNotMatch(ended.stderr, /\n {4}at /)
    return ended.stderr
  }

  test('sets the rules of a repo, and shows what its retention would delete', async () => {
    await succeed('repos create --parent acme --name ruled')
    const update = 'repos update acme/ruled --public --immutable-tags v* --immutable-tags final'
    const rule = '{"tags": ["nightly-*"], "keepMostRecent": 1}'
    const updated = await json(`${update} --retention.delete-untagged-after 14d --retention.rules`, rule)
    assert.deepEqual(
      [updated.public, updated.immutableTags, updated.retention],
      [
        true,
        ['v*', 'final'],
        {
          rules: [{ tags: ['nightly-*'], keepMostRecent: 1 }],
          deleteUntaggedAfter: '1209600s',
        },
      ],
    )
    for (const name of ['v1', 'nightly-1', 'nightly-2'])
      await json(`tags create --parent acme/ruled --name ${name} --digest sha256:${'a'.repeat(64)}`)
    const table = await succeed('repos preview-retention acme/ruled')
    const rows = table.split('\n').map((row) => row.trim().split(/ {2,}/).slice(0, 3).join(' | '))
    assert.deepEqual(rows, [
      'ACTION | TAG | REASON',
      'delete | nightly-1 | no rule keeps it',
      'keep | nightly-2 | rule 1: number 1 of the 1 most recent',
      'keep | v1 | immutable by v*',
      '',
    ])
    const tried = await succeed('repos preview-retention acme/ruled --retention.rules', '{"tags": ["*-1"]}')
    assert.match(tried, /^delete +nightly-2 /m)
    const hidden = await json('repos update acme/ruled --no-public')
    assert.equal(hidden.public, undefined)
    assert.match(await failure(6, 'tags delete --yes acme/ruled:v1'), /tag v1 cannot be deleted/)
    await succeed('repos update acme/ruled --immutable-tags final')
    await succeed('repos delete acme/ruled --yes')
  })

  test('a command with --validate-only shows its result, changes nothing, and says so', async () => {
    const create = ['groups', 'create', '--parent', 'acme/research', '--name', 'planned', '--validate-only']
    const created = await run([...create, '-o', 'json'])
    assert.deepEqual([created.code, created.stderr], [0, 'Nothing was changed (--validate-only).\n'])
    assert.equal(JSON.parse(created.stdout).name, 'planned')
    assert.match(await failure(5, 'groups get acme/research/planned'), /there is no group/)
    const deleted = await run(['groups', 'delete', 'acme/research', '--validate-only'])
    assert.deepEqual(
      [deleted.code, deleted.stderr],
      [0, '1 group can be deleted. Nothing was changed (--validate-only).\n'],
    )
    assert.equal((await json('groups get acme/research')).name, 'research')
    assert.match(await failure(6, 'groups delete acme/platform --validate-only'), /with child groups/)
  })

  test('a group is created, read, updated and deleted by its path', async () => {
    const { uid } = await json('groups create --parent acme/platform --name', 'a b', '--description', 'first')
    assert.equal((await json('groups get', 'acme/platform/a b')).uid, uid)
    assert.equal((await json('groups update', 'acme/platform/a b', '--name', 'c')).description, 'first')
    assert.equal((await json('groups update', uid, '--description', '')).description, '')
    assert.match(
      await failure(2, 'groups delete', uid),
      /cannot ask for confirmation without a terminal; use --yes to delete 1 group/,
    )
    assert.equal(await succeed('groups delete acme/platform/c --yes'), '')
    assert.match(
      await failure(5, 'groups get acme/platform/c'),
      /there is no group "acme\/platform\/c", or you may not see it/,
    )
    await failure(5, 'groups get', uid)
  })

  test('metadata of the caller and terms of a group have commands', async () => {
    const changed = await json('identities update-metadata --company', 'Acme Inc.', '--job-title', 'SRE')
    assert.deepEqual([changed.company, changed.jobTitle], ['Acme Inc.', 'SRE'])
    assert.equal((await json('identities update-metadata --job-title', '')).company, 'Acme Inc.')
    const accepted = await run('terms list-acceptances acme/platform -o json'.split(' '))
    assert.deepEqual([accepted.code, accepted.stdout, accepted.stderr], [0, '[]\n', 'No terms.\n'])
    const refused = await failure(6, 'terms accept acme --document-ids tou.v1')
    assert.match(refused, /has set no documents to accept/)
    assert.match(await failure(2, 'terms list-acceptances'), /needs the name or uid of a group/)
    assert.match(await failure(2, 'people remove'), /people remove needs at least one uid/)
  })

  test('a warning of the server is printed on standard error and names the flag', async () => {
    const aws = ['--aws-identity.aws-account', '123456789012', '--aws-identity.user-id', 'foo']
    const create = ['identities', 'create', '--parent', 'acme', '--name', 'aws', ...aws, '--aws-identity.arn']
    const { code, stdout, stderr } = await run([...create, 'bar', '-o', 'uid'])
    assert.deepEqual([code, stdout.split('\n').length], [0, 2])
    assert.match(stderr, /^stemma: warning: --aws-identity\.arn: must be an ARN such as arn:aws:\S+; .*\n$/)
    const valid = await run([...create, 'arn:aws:iam::123456789012:user/x', '-o', 'uid'])
    assert.deepEqual([valid.code, valid.stderr], [0, ''])
    await succeed('identities delete --yes', stdout.trim(), valid.stdout.trim())
  })

  test('lists can be printed as table, wide table, JSON, YAML or uids', async () => {
    const table = await succeed('groups list --children-of acme --order-by name')
    assert.match(table, /^NAME {6}DESCRIPTION {2}AGE {23}UID\nplatform {2}-.*\nresearch {2}-.*\n$/)
    assert.match(await succeed('groups list --children-of acme -o wide'), /VERIFIED/)
    const rows = JSON.parse(await succeed('groups list --children-of acme --order-by name -o json')) as Row[]
    assert.deepEqual(
      rows.map(({ name }) => name),
      ['platform', 'research'],
    )
    assert.deepEqual(parse(await succeed('groups list --children-of acme --order-by name -o yaml')), rows)
    assert.equal(
      await succeed('groups list --children-of acme --order-by name -o uid'),
      rows.map(({ uid }) => `${uid}\n`).join(''),
    )
    assert.match(
      await failure(2, 'groups list -o xml'),
      /--output must be table, wide, json, yaml or uid, not "xml"/,
    )
  })

  test('a list says when there are more results, and --all prints all', async () => {
    const { stdout, stderr } = await run('groups list --page-size 2 --order-by name -o json'.split(' '))
    assert.equal(JSON.parse(stdout).length, 2)
    const [, token = ''] =
      /^2 of 4; --all lists all, --page-token (\S+) lists the next page\n$/.exec(stderr) ?? []
    const nextPage = JSON.parse(
      await succeed('groups list --page-size 2 --order-by name -o json --page-token', token),
    ) as Row[]
    assert.deepEqual(
      nextPage.map(({ name }) => name),
      ['research', 'staging'],
    )
    const all = JSON.parse(
      await succeed('groups list --page-size 1 --skip 1 --all --order-by name -o json'),
    ) as Row[]
    assert.deepEqual(
      all.map(({ name }) => name),
      ['platform', 'research', 'staging'],
    )
    const none = await run('groups list --name nobody --all'.split(' '))
    assert.deepEqual([none.code, none.stdout, none.stderr], [0, '', 'No groups.\n'])
  })

  test('groups can be printed as a tree', async () => {
    assert.equal(await succeed('groups tree'), 'acme\n├── platform\n│   └── staging\n└── research\n')
    assert.equal(await succeed('groups tree acme --depth 1'), 'acme\n├── platform\n└── research\n')
    assert.equal(await succeed('groups tree acme/platform'), 'platform\n└── staging\n')
    const [top] = JSON.parse(await succeed('groups tree acme/platform -o json'))
    assert.deepEqual([top.name, top.children.length, top.children[0].name], ['platform', 1, 'staging'])
  })

  test('a name means the resource nearest to --parent, and an ambiguous name lists the matching uids', async () => {
    const claims = ['--claim-match.issuer', 'https://ci.example.com', '--claim-match.subject', 'robot']
    const here = await json('identities create --parent acme/platform --name ci', ...claims)
    const there = await json('identities create --parent acme/research --name ci', ...claims)
    const stderr = await failure(2, 'identities get ci')
    assert.match(stderr, /^stemma: "ci" matches 2 identities; use one of these uids instead:\n/)
    for (const { uid } of [here, there]) assert.ok(stderr.includes(`\n  ${uid}\n`), stderr)
    assert.equal((await json('identities get acme/research/ci')).uid, there.uid)
    const binding = await json('role-bindings create --parent acme/platform --identity ci --role viewer')
    assert.deepEqual((binding.identity as Row).uid, here.uid)
    assert.equal((binding.role as Row).name, 'viewer')
    const table = await succeed(
      'role-bindings list --identity acme/platform/ci --role viewer --group acme/platform',
    )
    assert.match(table, /^IDENTITY {2}ROLE {4}GROUP {5}EXPIRES {2}AGE .*\nci .*viewer .*platform/)
    assert.match(
      await failure(2, 'role-bindings get ci'),
      /role bindings cannot be found by name; stemma role-bindings list shows/,
    )
    assert.match(await failure(6, 'identities delete acme/platform/ci --yes'), /Precondition failed: /)
    await succeed('role-bindings delete --yes', binding.uid)
    await succeed('identities delete --yes', here.uid, there.uid)
  })

  test('a mapping of an external group to a role can be created with names instead of uids', async () => {
    await succeed(
      'identity-providers create --parent acme --name groups --default-role viewer --oidc.pkce-enabled --oidc.issuer https://login.example.com --oidc.client-id x',
    )
    const { uid } = await json(
      'external-group-role-mappings create --parent acme/groups --role viewer --scope acme/platform --external-group-id',
      'all developers',
    )
    const table = await succeed('external-group-role-mappings list --identity-provider acme/groups')
    assert.match(table, /^EXTERNAL GROUP {2}ROLE .*SCOPE .*UID\nall developers {2}[0-9a-f]{40} /)
    assert.match(
      await succeed('role-bindings list --group acme/platform'),
      /\nall developers +viewer +platform /,
    )
    const batch = 'external-group-role-mappings batch-delete --parent acme/groups --names'
    const deleted = JSON.parse(await succeed(batch, uid, '-o', 'json')) as Row[]
    assert.deepEqual(
      deleted.map((mapping) => mapping.uid),
      [uid],
    )
    await succeed('identity-providers delete acme/groups --yes')
  })

  test('an empty name is refused', async () => {
    for (const line of [
      'groups get acme/',
      'groups delete --yes acme//',
      'identities delete --yes acme/',
      'roles get /',
    ])
      await failure(5, line)
    assert.match(await failure(2, 'identities get', ''), /expected the name or uid of an identity/)
  })

  test('siblings with the same name are ambiguous', async () => {
    for (let count = 0; count < 2; count++) await json('groups create --parent acme/research --name', 'twin')
    assert.match(await failure(2, 'groups update acme/research/twin --description x'), /matches 2 groups/)
    assert.match(
      await failure(2, 'groups create --name x --parent acme/research/twin'),
      /^stemma: --parent: "acme/,
    )
    const uids = (await succeed('groups list --name twin -o uid')).trim().split('\n')
    const { stderr } = await run(['groups', 'delete', '--yes', ...uids])
    assert.equal(stderr, 'Deleted 2 groups.\n')
  })

  test('a document creates and updates resources, and flags override it', async () => {
    const file = join(client.home, 'identity.yaml')
    await writeFile(
      file,
      'name: robot\ndescription: |\n  turns\n  wheels\nclaim_match:\n  issuer: https://ci.example.com\n  subject: robot\n  claims: {environment: production}\n',
    )
    const robot = await json('identities create --parent acme --description', 'other', '-f', file)
    assert.equal(robot.description, 'other')
    assert.deepEqual(robot.claimMatch, {
      issuer: 'https://ci.example.com',
      subject: 'robot',
      claims: { environment: 'production' },
    })
    const printed = await succeed('identities get acme/robot -o yaml')
    const changed = await run(
      ['identities', 'update', '-f', '-', '-o', 'json'],
      printed.replace('other', 'another'),
    )
    assert.equal((JSON.parse(changed.stdout) as Row).description, 'another', changed.stderr)
    assert.match(await failure(2, 'identities create --parent acme -f nowhere.yaml'), /there is no such file/)
    await succeed('identities delete acme/robot --yes')
  })

  test('secrets and long texts can be read from files and pipes', async () => {
    await json(
      'repos create --parent acme --name',
      'tools/static',
      '--catalog-tier',
      'base',
      '--bundles',
      'fips',
    )
    const file = join(client.home, 'README.md')
    await writeFile(file, '# Static\n\nNothing moves.\n')
    await succeed(`repos update-readme acme/tools/static --content @${file}`)
    assert.equal(await succeed('repos readme acme/tools/static'), await readFile(file, 'utf8'))
    const sso =
      'identity-providers create --parent acme --name sso --default-role viewer --oidc.issuer https://login.example.com --oidc.client-id x --oidc.client-secret @-'
    const { code, stdout } = await run([...sso.split(' '), '-o', 'json'], 'hush\n')
    assert.equal(code, 0)
    assert.doesNotMatch(stdout, /hush/)
    await succeed('identity-providers update acme/sso --description', '@@home')
    assert.equal((await json('identity-providers get acme/sso')).description, '@home')
    await succeed('identity-providers delete acme/sso --yes')
  })

  test('a repo whose name looks like the path of another makes that path ambiguous', async () => {
    const other = await json('repos create --parent acme/research --name acme/tools/static')
    assert.match(await failure(2, 'repos get acme/tools/static'), /matches 2 repos/)
    await succeed('repos delete --yes', other.uid)
  })

  test('a tag is named by the path of its repo and its name, and tags can be filtered by time', async () => {
    const digest = `sha256:${'0'.repeat(64)}`
    const tag = await json('tags create --parent acme/tools/static --name latest --digest', digest)
    assert.equal((await json('tags get acme/tools/static:latest')).uid, tag.uid)
    assert.match(
      await succeed('tags list --children-of acme/tools/static --updated-since 1h'),
      /^NAME .*\nlatest/,
    )
    assert.equal(await succeed('tags list --descendants-of acme -o uid'), `${tag.uid}\n`)
    assert.equal(await succeed('tags list --updated-since', 'in 1h'), '')
    assert.equal((await json('tags update acme/tools/static:latest --deprecated')).deprecated, true)
    assert.equal((await json('tags update acme/tools/static:latest --no-deprecated')).deprecated, false)
    await succeed('repos delete acme/tools/static --yes')
  })

  test('the sync source of a repo has a flag, and an update of the sync config keeps its other fields', async () => {
    const { uid } = await json('repos create --parent acme --name source')
    const copy = await json('repos create --parent acme --name copy --sync-config.source acme/source')
    const config = copy.sync_config as Record<string, unknown>
    assert.equal(config.source, uid)
    const updated = await json('repos update acme/copy --sync-config.azure acr/acme')
    assert.deepEqual(updated.sync_config, { ...config, azure: 'acr/acme' })
    assert.equal(await succeed('repos list --sync-source', uid, '-o', 'uid'), `${copy.uid}\n`)
    for (const name of ['copy', 'source']) await succeed(`repos delete acme/${name} --yes`)
  })

  test('roles, invites, account associations, subscriptions and batches of role bindings can be created', async () => {
    const role = await json('roles create --parent acme --name deployer --capabilities groups.list,repo.list')
    assert.deepEqual(role.capabilities, ['CAP_IAM_GROUPS_LIST', 'CAP_REPO_LIST'])
    const invite = await json('group-invites create --parent acme --role deployer --ttl 24h --single-use')
    const lifetimeMs = Date.parse(String(invite.expirationTime)) - Date.now()
    assert.ok(Math.abs(lifetimeMs - 24 * 3600_000) < 60_000)
    assert.equal(invite.singleUse, true)
    assert.match(await succeed('group-invites get', invite.uid), /^uid +\S+\n(?:.*\n)*singleUse +yes\n/)
    await json(
      'account-associations create --parent acme/research --name cloud --amazon.account 123456789012',
    )
    assert.equal((await json('account-associations get acme/research')).name, 'cloud')
    await json('subscriptions create --parent acme --sink https://hooks.example.com/x')
    assert.match(await succeed('subscriptions list'), /https:\/\/hooks\.example\.com\/x/)
    const requests = JSON.stringify({ roleBinding: { identityUid: platform.owner.identity } })
    const batch = await succeed(
      'role-bindings batch-create --parent acme/research --role viewer --requests',
      requests,
    )
    assert.match(batch, /^IDENTITY .*\n.*viewer/)
    assert.match(await succeed('ping'), /pong/)
    assert.deepEqual((await json('groups check-eligibility')).eligible, false)
  })

  test('a call whose response is empty reports that it is done, or that it found nothing', async () => {
    const found = await run(split('security-advisory list-documents --id none', []))
    assert.deepEqual(found, { code: 0, stdout: '', stderr: 'No documents.\n' })
    const { uid } = await json('subscriptions create --parent acme --sink https://hooks.example.com/y')
    const replayed = await run(split(`subscriptions replay ${uid} --since 1h`, []))
    assert.deepEqual(replayed, { code: 0, stdout: '', stderr: 'Done.\n' })
  })

  describe('an error', () => {
    test('names the flag of the wrong value', async () => {
      assert.match(
        await failure(2, 'groups create --parent acme --name', 'No Capitals'),
        /^stemma: --name: must match/,
      )
      assert.match(await failure(2, 'groups list --order-by color'), /^stemma: --order-by: /)
      const claims = '--claim-match.subject x --claim-match.issuer-pattern ('
      assert.match(
        await failure(2, `identities create --parent acme --name x ${claims}`),
        /^stemma: --claim-match\.issuer-pattern: /,
      )
      assert.match(
        await failure(2, 'groups create --parent acme --nam x'),
        /no flag --nam \(did you mean --name\?\)/,
      )
      assert.match(await failure(2, 'groups fly'), /it has list, get, create, update, delete, /)
      assert.match(await failure(2, 'planes list'), /stemma has no command "planes"/)
      assert.match(await failure(2, 'groups get'), /groups get needs the name or uid of a group/)
      assert.match(
        await failure(2, 'group-invites create --parent acme --role viewer --ttl soon'),
        /^stemma: --ttl: must be a duration/,
      )
      assert.match(
        await failure(2, 'access batch-check --questions {}'),
        /^stemma: --questions\[0\]\.capability: is required, or method in its place/,
      )
    })

    test('has the exit code of its type', async () => {
      const other = await platform.addOrganization('other')
      const denied = await run(['groups', 'get', platform.owner.organization], '', other.token)
      assert.equal(denied.code, 4)
      await failure(6, 'groups delete acme --yes')
      const nobody = await client.run(['groups', 'list'], '', { STEMMA_API: platform.url })
      assert.deepEqual([nobody.code, nobody.stderr], [3, 'stemma: not signed in; run: stemma auth login\n'])
      assert.equal((await run(['groups', 'list'], '', 'no.token.here')).code, 3)
      const offline = await client.run(['groups', 'list'], '', { ...env(), STEMMA_API: 'http://127.0.0.1:1' })
      assert.equal(offline.code, 7)
      assert.match(offline.stderr, /cannot be reached/)
      assert.match(await succeed('help exit-codes'), /4 +Permission denied/)
    })

    test('is printed in full with --debug, without secrets', async () => {
      const { stderr, code } = await run(['groups', 'create', '--parent', 'acme', '--name', 'A', '--debug'])
      assert.equal(code, 2)
      assert.match(stderr, /POST http\S+\/iam\/v2beta1\/groups\/[0-9a-f]{40}: 400\n/)
      assert.match(stderr, /"@type": "type\.googleapis\.com\/google\.rpc\.BadRequest"/)
      assert.doesNotMatch(stderr, /eyJ/)
    })
  })

  test('the stored sign-in is used', async () => {
    const folder = client.tokenFolder('http://stemma.test')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'oidc-token'), platform.owner.token)
    const { code, stdout } = await client.run([
      'groups',
      'get',
      'acme',
      '--api',
      platform.url,
      '--audience',
      'http://stemma.test',
    ])
    assert.equal(code, 0)
    assert.match(stdout, /^uid +\S+\nname +acme\n/)
  })

  test('advisories can be searched and exported', async () => {
    const context = { access: operatorAccess, now: Date.now, random: randomBytes }
    const advisory = create(AdvisorySchema, {
      ...{ author: 'ada', artifactName: 'left-pad', artifactType: 'npm', aliases: ['CVE-2026-1'] },
    })
    const { organization } = platform.owner
    for (let count = 0; count < 2; count++)
      await platform.store.write(() => createAdvisory(context, organization, clone(AdvisorySchema, advisory)))
    const table = await succeed('advisories list --query cve-2026 --artifact-types npm')
    const [, id = ''] = /^ID .*\n(CGA(?:-\w{4}){3}) +left-pad +npm +CVE-2026-1 /.exec(table) ?? []
    assert.equal((await json('advisories get', id)).advisoryId, id)
    assert.ok(JSON.parse(await succeed('advisories osv', id)).schema_version)
    assert.match(await succeed('advisories openvex -o yaml', id), /^"@context": https:\/\/openvex/)
    const lines = (await succeed('advisories export-osv --descendants-of acme')).split('\n').slice(0, -1)
    assert.deepEqual(
      lines.map((line) => typeof JSON.parse(line).id),
      ['string', 'string'],
    )
    const command = 'advisories export-osv --descendants-of acme -o'
    assert.equal((await succeed(`${command} json`)).split('\n').length, 3)
    const refused = await run(split(command, ['yaml']))
    assert.deepEqual([refused.code, refused.stdout], [2, ''])
    assert.match(refused.stderr, /advisories export-osv prints one JSON document per line/)
  })

  test('STEMMA_TOKEN is used as the token', async () => {
    assert.match(
      await succeed('auth status'),
      new RegExp(`${platform.owner.identity}, token expires in \\d+ minutes\n`),
    )
  })

  test('several resources can be read at once', async () => {
    assert.match(
      await succeed('groups get acme/platform acme/research'),
      /^NAME .*\nplatform .*\nresearch .*\n$/,
    )
    const rows = JSON.parse(await succeed('groups get acme/platform acme/research -o json')) as Row[]
    assert.deepEqual(
      rows.map(({ name }) => name),
      ['platform', 'research'],
    )
  })

  test('help shows examples, commands and flags', async () => {
    assert.match(await succeed('--help'), /\n {2}stemma groups tree\n/)
    assert.match(await succeed('groups --help'), /\n {2}tree \[NAME\|UID\] /)
    assert.match(
      await succeed('identities create --help'),
      /--claim-match\.issuer TEXT +Issuer that a token must have: an https\s+URL/,
    )
    assert.equal(await succeed('help identities create'), await succeed('identities create -h'))
  })
})
