// The packages work after an installation with npm: server, command line and SDK, in Node and in a browser.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { services } from '@stemma/api/gen/services.ts'
import { threadPrograms } from '../../server/package-files.ts'
import type { Bootstrapped, Program, RunningServer } from '../server/stemmad.ts'
import { remove, runStemmad, serve } from '../server/stemmad.ts'
import { newBrowserContext, noChromium, openChromium } from '../sign-in/chromium.ts'
import { bundle, importOneService } from './bundle.ts'
import { installPackages, runInstalled, runNpm } from './install-packages.ts'

const root = join(import.meta.dirname, '../..')
const { execPath: node } = process

describe('the packages', { timeout: 900_000 }, () => {
  let folder: string
  let stemmad: Program
  before(async () => {
    folder = await installPackages()
    stemmad = { node, launcher: join(folder, 'node_modules/@stemma/server/bin/stemmad.mjs') }
  })
  after(() => remove(folder))

  const filesOf = (name: string) =>
    readdir(join(folder, 'node_modules/@stemma', name), { recursive: true, encoding: 'utf8' })
  const manifestOf = async (name: string) =>
    JSON.parse(await readFile(join(folder, 'node_modules/@stemma', name, 'package.json'), 'utf8'))

  const run = (args: string[], input?: string) => runStemmad(folder, args, {}, input, stemmad)

  test('contain JavaScript and declarations, and no tests or sources', async () => {
    for (const name of ['api', 'server', 'cli']) {
      const files = await filesOf(name)
      const unwanted = files.filter((file) =>
        /(?<!\.d)\.ts$|\.test\.|(^|[\\/])(testing|node_modules|samples)[\\/]/.test(file),
      )
      assert.deepEqual(unwanted, [], name)
      for (const expected of ['LICENSE', 'README.md', 'package.json'])
        assert.ok(files.includes(expected), `${name} ${expected}`)
      const { private: isPrivate, devDependencies, version } = await manifestOf(name)
      assert.deepEqual([isPrivate, devDependencies, version], [undefined, undefined, '0.1.0'])
    }
    const sources = await readdir(join(root, 'server/store/migrations'))
    assert.deepEqual(await readdir(join(folder, 'node_modules/@stemma/server/store/migrations')), sources)
  })

  test('contain the programs of all threads', async () => {
    const files = await filesOf('server')
    for (const program of threadPrograms)
      assert.ok(files.includes(join('bundle', `${basename(program)}.mjs`)), program)
  })

  test('declare every package they import', async () => {
    for (const name of ['api', 'server', 'cli']) {
      const { dependencies } = await manifestOf(name)
      const modules = (await filesOf(name)).filter((file) => /\.m?js$/.test(file))
      const texts = modules.map((file) => readFile(join(folder, 'node_modules/@stemma', name, file), 'utf8'))
      const used = new Set((await Promise.all(texts)).flatMap(packagesIn))
      assert.ok(used.size > 0)
      assert.deepEqual(
        [...used].filter((dependency) => !Object.hasOwn(dependencies, dependency)),
        [],
        name,
      )
    }
  })

  test('contain the licenses of the packages in the bundle of the command line', async () => {
    const licenses = await readFile(join(folder, 'node_modules/@stemma/cli/bundle/licenses.txt'), 'utf8')
    for (const name of ['@bufbuild/protobuf', 'openid-client', 'oauth4webapi', 'jose'])
      assert.match(licenses, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+, `, 'm'))
    assert.match(licenses, /Redistributions in binary form must reproduce the above/)
    assert.deepEqual(Object.keys((await manifestOf('cli')).dependencies), ['yaml'])
  })

  test('contain the protos of the whole contract', async () => {
    const sources = await readdir(join(root, 'api/proto'), { recursive: true })
    assert.deepEqual(
      await readdir(join(folder, 'node_modules/@stemma/api/proto'), { recursive: true }),
      sources,
    )
  })

  test('install their commands, and keep their compiled code for the next start', async () => {
    for (const [program, name] of [
      ['stemmad', 'server'],
      ['stemma', 'cli'],
      ['docker-credential-stemma', 'cli'],
    ] as const) {
      const { stdout } = await runInstalled(program, ['--help'], folder)
      assert.match(stdout, new RegExp(`^${program} `))
      const cache = join(folder, `node_modules/@stemma/${name}/node_modules/.cache/compile`)
      assert.equal((await readdir(cache)).length, 1, 'one folder for this version of Node')
    }
  })

  test('are run by npx under their own names', async () => {
    for (const [name, program] of [
      ['server', 'stemmad'],
      ['cli', 'stemma'],
    ] as const) {
      const { stdout } = await runNpm(['exec', '--offline', '--', `@stemma/${name}`, '--help'], folder)
      assert.match(stdout, new RegExp(`^${program} `))
    }
  })

  test('refuse a Node that is too old with a clear message', async () => {
    // The launcher looks only at `process.versions.node`, so an override is enough.
    const versionOverride = `data:text/javascript,Object.defineProperty(process, 'versions', { value: { node: '22.1.0' } })`
    for (const launcher of [stemmad.launcher, join(folder, 'node_modules/@stemma/cli/bin/stemma.mjs')]) {
      const { code, stderr } = await runStemmad(
        folder,
        ['--version'],
        { NODE_OPTIONS: `--import "${versionOverride}"` },
        undefined,
        { node, launcher },
      )
      assert.equal(code, 1)
      assert.equal(stderr, 'Stemma needs Node 24, but this is Node 22.1.0: install Node 24 or newer\n')
    }
    assert.equal((await manifestOf('server')).engines.node, '>=24')
  })

  test('refuse common passwords', async () => {
    const { code, stderr } = await run(
      ['users', 'add', 'ada@example.com', '--password-file', '-'],
      'Password2026!',
    )
    assert.deepEqual([code, stderr], [2, 'the password must be harder to guess\n'])
  })

  describe('as a server', () => {
    let owner: Bootstrapped
    /** Serves a page that loads the SDK. */
    let pages: Pages
    let server: RunningServer
    before(async () => {
      const { stdout, stderr } = await run([
        'bootstrap',
        '--org',
        'acme',
        '--json',
        '--base-url',
        'http://stemma.test',
      ])
      assert.match(stdout, /^\{/, stderr)
      owner = JSON.parse(stdout)
      pages = await servePages((await bundle(importOneService('@stemma/api/json'), folder)).text)
      server = await serve(
        folder,
        ['--drain-delay', '0', '--workers', '2', '--cors-origins', pages.origin],
        stemmad,
      )
    })
    after(async () => {
      pages?.close()
      server?.signal('SIGINT')
      await server?.exited
    })

    test('serve the console, which they contain', async () => {
      const page = await (await fetch(`${server.url}/console/`)).text()
      const files = [...page.matchAll(/\/console\/assets\/[^"]+/g)].map(([path]) => path)
      assert.ok(files.length >= 3, page)
      for (const file of files) assert.equal((await fetch(server.url + file)).status, 200, file)
    })

    test('serve the guides, their pictures and the scripts of the documentation', async () => {
      for (const path of [
        '/docs',
        '/docs/tour',
        '/docs/tree.svg',
        '/docs/assets/docs.mjs',
        '/docs/assets/docs.css',
      ])
        assert.equal((await fetch(server.url + path)).status, 200, path)
    })

    test('check readmes in a worker thread', async () => {
      const send = async (method: string, path: string, body: object) => {
        const headers = { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' }
        const answer = await fetch(server.url + path, { method, headers, body: JSON.stringify(body) })
        return { status: answer.status, body: (await answer.json()) as { uid: string; message: string } }
      }
      const repo = await send('POST', `/registry/v2beta1/repos/${owner.organization.uid}`, { name: 'app' })
      const readme = `/registry/v2beta1/repos/${repo.body.uid}/readme`
      assert.equal((await send('PATCH', readme, { content: '# Title' })).status, 200)
      const unsafe = await send('PATCH', readme, { content: '<script>x</script>' })
      assert.match(unsafe.body.message, /must not contain unsafe HTML/)
    })

    test('import in a worker thread, and answer the SDK', async () => {
      const record = { schema_version: '1.7.3', id: 'GHSA-1', modified: '2026-02-03T04:05:06Z' }
      const affected = [{ package: { ecosystem: 'npm', name: 'left-pad' } }]
      await writeFile(join(folder, 'dump.jsonl'), `${JSON.stringify({ ...record, affected })}\n`)
      const imported = await run(['import', 'advisories', '--group', owner.organization.uid, 'dump.jsonl'])
      assert.equal(imported.code, 0, imported.stderr)
      const program = `
        import { createClient, list } from '@stemma/api'
        import { GroupsService } from '@stemma/api/platform/iam/v2beta1/group'
        import { AdvisoriesService } from '@stemma/api/platform/vulnerabilities/v2beta1/advisory'
        const options = { baseUrl: ${JSON.stringify(server.url)}, token: ${JSON.stringify(owner.token)} }
        const groups = createClient(GroupsService, options)
        await groups.createGroup({ parent: ${JSON.stringify(owner.organization.uid)}, group: { name: 'team' } })
        for await (const { name } of list(groups.listGroups, {})) console.log(name)
        for await (const { id } of createClient(AdvisoriesService, options).exportAdvisoriesOsv({})) console.log(id)`
      await writeFile(join(folder, 'use.js'), program)
      const { stdout } = await promisify(execFile)(node, ['use.js'], { cwd: folder })
      assert.deepEqual(stdout.trim().split('\n').sort(), ['GHSA-1', 'acme', 'team'])
    })

    test('list groups for the SDK in a browser', { skip: noChromium ?? false }, async () => {
      const browser = await openChromium()
      try {
        const page = await (await newBrowserContext(browser, { javaScriptEnabled: true })).newPage()
        await page.goto(pages.origin)
        await page.waitForFunction('globalThis.createClient')
        const listNames = (options: object) =>
          page.evaluate(`(async () => {
            const groups = createClient(GroupsService, ${JSON.stringify(options)})
            const names = []
            for await (const { name } of list(groups.listGroups, { pageSize: 1 })) names.push(name)
            return names
          })().catch(({ code, reason, requestId }) => ({ code, reason, requestId: typeof requestId }))`)
        const names = await listNames({ baseUrl: server.url, token: owner.token })
        assert.ok((names as string[]).includes('acme'))
        const refused = { code: 16, reason: 'UNAUTHENTICATED', requestId: 'string' }
        assert.deepEqual(await listNames({ baseUrl: server.url }), refused)
      } finally {
        await browser.close()
      }
    })
  })

  test('have types that reject wrong calls, and the examples of the readme compile', async () => {
    const readme = await readFile(join(folder, 'node_modules/@stemma/api/README.md'), 'utf8')
    const blocks = Array.from(readme.matchAll(/^```ts\n(.*?)^```/gms), ([, block = '']) => block)
    const { json = [], messages = [] } = Object.groupBy(blocks, (block) =>
      block.includes(`'@stemma/api/json'`) ? 'json' : 'messages',
    )
    assert.ok(messages.length > 3 && json.length > 0)
    const compilerOptions = {
      ...{ strict: true, target: 'es2022', module: 'nodenext', noEmit: true, skipLibCheck: false, types: [] },
      lib: ['es2022', 'dom', 'dom.asynciterable'],
    }
    const programs = {
      ...{ 'use.ts': programWithMessages, 'use-json.ts': programWithJson },
      'readme.ts': [...messages, declarationsForReadme].join('\n'),
      'readme-json.ts': [...json, declarationsForReadme].join('\n'),
    }
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: Object.keys(programs) }),
    )
    for (const [file, text] of Object.entries(programs)) await writeFile(join(folder, file), text)
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    await promisify(execFile)(node, [compiler, '--singleThreaded', '-p', '.'], { cwd: folder }).catch(
      ({ stdout }) => assert.fail(stdout),
    )
  })

  test('are small in a bundle, without the services that are not used', async (context) => {
    const files = new Set(services.map(({ file }) => file.name))
    const calls = services.flatMap(({ methods }) => methods).length
    const measure = async (entry: string) => {
      const one = await bundle(importOneService(entry), folder)
      const all = await bundle(importAllServices(entry, files), folder)
      const report = (content: string, { client, minified, zipped }: typeof one) =>
        context.diagnostic(
          `${entry} with ${content}: ${minified} kB minified, of which the client is ${client} kB; ${zipped} kB zipped`,
        )
      report('one service', one)
      report(`all ${files.size} files of services`, all)
      assert.ok(one.client < 15)
      assert.doesNotMatch(one.text, /advisories/i)
      return { one, all }
    }
    const json = await measure('@stemma/api/json')
    assert.ok(json.one.minified < 15)
    assert.ok(json.all.minified < 60)
    assert.equal(json.all.protobufRuntime, 0)
    assert.equal(json.all.text.match(/\bverb:"[A-Z]+",path:"/g)?.length, calls)
    const messages = await measure('@stemma/api')
    assert.ok(messages.one.zipped < 50)
    assert.ok(messages.all.zipped < 2.75 * files.size, 'each file of services adds less than 2.75 kB')
  })
})

const importAllServices = (entry: string, files: Set<string>) =>
  [
    `export * from '${entry}'`,
    ...Array.from(
      files,
      (file, at) => `import * as s${at} from '${entry}/${file}'; console.log(Object.values(s${at}))`,
    ),
  ].join('\n')

type Pages = { origin: string; close(): void }

/** Serves a page whose only script is `script`. */
async function servePages(script: string): Promise<Pages> {
  const pages = createServer((request, response) => {
    if (request.url === '/sdk.js') response.setHeader('content-type', 'text/javascript').end(script)
    else
      response
        .setHeader('content-type', 'text/html')
        .end('<!doctype html><script type=module src=sdk.js></script>')
  })
  await once(pages.listen(0, '127.0.0.1'), 'listening')
  const { port } = pages.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, close: () => pages.close() }
}

const importPattern =
  /^(?:import|export)\b[^'"();=]*\bfrom ['"]([^'"]+)|^import ['"]([^'"]+)|\bimport\(['"]([^'"]+)/gm

/** The names of the packages that a module imports. */
function packagesIn(text: string): string[] {
  const paths = Array.from(text.matchAll(importPattern), ([, ...groups]) => groups.find(Boolean) ?? '')
  const others = paths.filter((path) => !/^(\.|node:)/.test(path))
  return others.map((path) => /^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path)
}

const programWithMessages = `
import { Code, createClient, list, StemmaError } from '@stemma/api'
import type { Group } from '@stemma/api/platform/iam/v2beta1/group'
import { GroupsService } from '@stemma/api/platform/iam/v2beta1/group'
import { AdvisoriesService } from '@stemma/api/platform/vulnerabilities/v2beta1/advisory'

const options = { baseUrl: 'https://stemma.example.com', token: async () => 'token' }
const groups = createClient(GroupsService, options)

export async function use(signal: AbortSignal): Promise<Group[]> {
  const found: Group[] = []
  for await (const group of list(groups.listGroups, { uidp: { childrenOf: 'a' } }, { signal })) found.push(group)
  const made: Group = await groups.createGroup({ parent: 'a', group: { name: 'b' } })
  // @ts-expect-error no such field
  await groups.createGroup({ parent: 'a', grup: { name: 'b' } })
  // @ts-expect-error no such call
  await groups.makeGroup({})
  // @ts-expect-error no such call
  list(groups.exportAll, {})
  for await (const document of createClient(AdvisoriesService, options).exportAdvisoriesOsv({})) document['id']
  await groups.getGroup({ uid: made.uid }).catch((error: unknown) => {
    if (error instanceof StemmaError && error.code === Code.NOT_FOUND) return undefined
    throw error
  })
  return found
}
`

const programWithJson = `
import { Code, createClient, exchangeTokenSource, list, StemmaError } from '@stemma/api/json'
import type { GroupJson } from '@stemma/api/json/platform/iam/v2beta1/group'
import { GroupsService } from '@stemma/api/json/platform/iam/v2beta1/group'
import { AdvisoriesService } from '@stemma/api/json/platform/vulnerabilities/v2beta1/advisory'

const issuer = { baseUrl: 'https://stemma.example.com' }
const options = { ...issuer, token: exchangeTokenSource({ issuer, identity: 'a', subject: 'token' }) }
const groups = createClient(GroupsService, options)

export async function use(signal: AbortSignal): Promise<GroupJson[]> {
  const found: GroupJson[] = []
  for await (const group of list(groups.listGroups, { uidp: { childrenOf: 'a' } }, { signal })) found.push(group)
  const made: GroupJson = await groups.createGroup({ parent: 'a', group: { name: 'b' } })
  // @ts-expect-error no such field
  await groups.createGroup({ parent: 'a', grup: { name: 'b' } })
  // @ts-expect-error no such field in a group
  await groups.createGroup({ parent: 'a', group: { nam: 'b' } })
  // @ts-expect-error no such field in the answer
  made.nam
  // @ts-expect-error no such call
  await groups.makeGroup({})
  for await (const document of createClient(AdvisoriesService, options).exportAdvisoriesOsv({})) document['id']
  await groups.getGroup({ uid: made.uid }).catch((error: unknown) => {
    if (error instanceof StemmaError && error.code === Code.NOT_FOUND) return undefined
    throw error
  })
  return found
}
`

/** Declares the names that the examples of the readme use without defining them. */
const declarationsForReadme = `
declare const process: { env: Record<string, string | undefined> }
declare function readIdToken(): Promise<string>
declare function readAccessToken(): Promise<string>
declare function store(refreshToken: string): void
`
