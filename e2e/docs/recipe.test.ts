// CONTRIBUTING.md, "Add a resource": the worked example is applied to a copy of the repository, which is then checked,
// started on both stores and called over REST, gRPC and by `stemma`.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import type { Platform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { applyStep, stepsOf } from './recipe.ts'
import type { TreeCopy } from './tree-copy.ts'
import { copyTree } from './tree-copy.ts'

type LabelMethod = 'getLabel' | 'listLabels' | 'createLabel' | 'updateLabel' | 'deleteLabel'
type LabelModule = { LabelsService: { method: Record<LabelMethod, DescMethod> } }

describe('the recipe for a resource', () => {
  let copy: TreeCopy
  before(async () => {
    copy = await copyTree()
    const page = await readFile(join(copy.folder, 'CONTRIBUTING.md'), 'utf8')
    const steps = stepsOf(page, 'Add a resource')
    assert.equal(steps.length, 6)
    for (const step of steps) await applyStep(copy.folder, step)
    await copy.run('scripts/generate.ts')
  })
  after(() => copy.remove())

  test('compiles, is formatted and imports only what it may', async () => {
    const biome = 'node_modules/@biomejs/biome/bin/biome'
    await copy.run(biome, 'check', '--write', 'server/resource-list.ts')
    // The tests are left out, because they take more than half of the time.
    const programs = { extends: './tsconfig.json', include: [], files: ['server/main.ts', 'cli/main.ts'] }
    await writeFile(join(copy.folder, 'tsconfig.programs.json'), JSON.stringify(programs))
    await Promise.all([
      // With several threads, tsc would check shared types once in each thread.
      copy.run('node_modules/typescript/bin/tsc', '--singleThreaded', '-p', 'tsconfig.programs.json'),
      copy.run(biome, 'ci', 'server/resources/iam/labels', 'server/resource-list.ts'),
      copy.run('scripts/check-imports.ts'),
    ])
  })

  test('passes the tests that walk the contract, without changes to these tests', async () => {
    const output = await copy.test(
      ...['--test-reporter=tap', '--test-name-pattern=[Ll]abels?'],
      ...['e2e/contract/contract.test.ts', 'e2e/iam/access.test.ts', 'e2e/docs/openapi.test.ts'],
      ...['cli/contract/contract.test.ts'],
    )
    const [, count = '0'] = /^# pass (\d+)$/m.exec(output) ?? []
    assert.ok(Number(count) >= 20, output)
  })

  test('leaves the published capabilities and roles as they are', async () => {
    await copy.test('server/policy/capabilities.test.ts', 'server/policy/built-in-roles.test.ts')
  })

  onEachStore('adds a resource', (engine) => {
    let platform: Platform
    let method: LabelModule['LabelsService']['method']
    before(async () => {
      // The modules of the copy have the types of the originals.
      const { startPlatform } = await copy.load<typeof import('../../server/testing/platform.ts')>(
        'server/testing/platform.ts',
      )
      platform = await startPlatform(engine)
      const module = await copy.load<LabelModule>('api/gen/platform/iam/v2beta1/label_pb.ts')
      method = module.LabelsService.method
    })
    after(() => platform.stop())

    for (const name of ['restDoor', 'grpcDoor'] as const)
      test(`that can be called over ${name === 'restDoor' ? 'REST' : 'gRPC'}`, async () => {
        const doors =
          await copy.load<typeof import('../../server/testing/doors.ts')>('server/testing/doors.ts')
        const door = doors[name](platform.url)
        const { token, organization: parent } = await platform.addOrganization(name.toLowerCase())
        const call = async (methodName: LabelMethod, request: JsonObject) => {
          const { body, error } = await door.call(method[methodName], request, token)
          return body ?? { code: error?.code ?? 0 }
        }
        try {
          const label = { name: 'urgent', color: 'ff0000' }
          const { uid = '' } = await call('createLabel', { parent, label })
          assert.equal((await call('getLabel', { uid })).color, 'ff0000')
          assert.equal((await call('createLabel', { parent, label })).code, 6)
          assert.equal((await call('createLabel', { parent, label: { name: 'a', color: 'red' } })).code, 3)
          const changed = await call('updateLabel', { label: { uid, color: '00ff00' } })
          assert.deepEqual([changed.name, changed.color], ['urgent', '00ff00'])
          const listed = await call('listLabels', { name: 'urgent', uidp: { childrenOf: parent } })
          assert.deepEqual([listed.totalCount, listed.labels], ['1', [changed]])
          assert.equal((await call('deleteLabel', { uid })).code, undefined)
          assert.equal((await call('getLabel', { uid })).code, 5)
        } finally {
          door.close()
        }
      })

    test('that has commands', async () => {
      const { token, organization } = await platform.addOrganization('by-command')
      const { openClient } = await copy.load<typeof import('../cli/client.ts')>('e2e/cli/client.ts')
      const client = await openClient('inline')
      const env = { STEMMA_API: platform.url, STEMMA_TOKEN: token }
      const stemma = async (...args: string[]) => {
        const { code, stdout, stderr } = await client.run(['labels', ...args], '', env)
        assert.equal(code, 0, stderr)
        return stdout
      }
      try {
        const uid = (await stemma('create', '--parent', organization, '--name', 'urgent', '-o', 'uid')).trim()
        await stemma('update', `by-command/urgent`, '--color', 'ff0000')
        assert.match(await stemma('list'), /^NAME +COLOR +UID\nurgent +ff0000 +\S+\n$/)
        assert.match(await stemma('get', 'by-command/urgent'), new RegExp(uid))
        await stemma('delete', 'urgent', '--yes')
        assert.equal(await stemma('list', '-o', 'uid'), '')
      } finally {
        await client.remove()
      }
    })
  })
})
