import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isUid } from '../aip/uid.ts'
import { builtInRole, builtInRoles } from './built-in-roles.ts'
import { capabilityNamed } from './capabilities.ts'

const held = (name: string) => new Set(builtInRole(name).capabilities)

describe('the built-in roles', () => {
  test('hold as many capabilities as the published bundles', () => {
    const counts = builtInRoles.map(({ name }) => [name, held(name).size])
    assert.deepEqual(Object.fromEntries(counts), {
      // 138 published, and the four capabilities on advisories that are not among them.
      owner: 142,
      editor: 62,
      viewer: 51,
      console_viewer: 45,
      'registry.pull': 10,
      'registry.push': 20,
      'registry.pull_token_creator': 15,
      'apk.pull': 3,
    })
  })

  test('give the owner everything on advisories beside the published set', () => {
    const advisories = [...held('owner')].filter((name) => name.startsWith('advisories.'))
    assert.deepEqual(advisories.sort(), [
      ...[
        'advisories.approve',
        'advisories.create',
        'advisories.delete',
        'advisories.list',
        'advisories.update',
      ],
    ])
    assert.equal(held('owner').size - (advisories.length - 1), 138)
  })

  test('name capabilities that exist, none of them reserved to the platform', () => {
    for (const { name, capabilities } of builtInRoles) {
      for (const capability of capabilities) {
        assert.equal(capabilityNamed(capability)?.internalOnly, false, `${name}: ${capability}`)
      }
      assert.ok(!capabilities.includes('internal'), name)
    }
  })

  test('have the same uids on every install, for ever', () => {
    assert.deepEqual(Object.fromEntries(builtInRoles.map(({ name, uid }) => [name, uid])), {
      owner: 'd091ed4d24639cc35e95a672ad15a7ac63739a61',
      editor: 'f632a7459851abd2870b18dd9769c30ae8612899',
      viewer: '63921b2c44617e3f2603851537be0123af4a57d7',
      console_viewer: 'b42ccf312212fa4a8829857b8b26705d4554e7e8',
      'registry.pull': '714d33c1cdf51f9370ecec673de9b1b8ec199628',
      'registry.push': '06f245c93008b6c5674535da0c46af3ac37c2fa9',
      'registry.pull_token_creator': '052cf01d499f158c180fd196471cccc2f4572e37',
      'apk.pull': 'e395ade7ce75a74f5ca993e83365cad624aaf57e',
    })
  })

  test('have uids that are uids, each its own', () => {
    for (const { uid } of builtInRoles) assert.ok(isUid(uid) && uid.length === 40)
    assert.equal(new Set(builtInRoles.map(({ uid }) => uid)).size, builtInRoles.length)
  })

  test('are described in the published style', () => {
    assert.equal(builtInRole('viewer').description, 'Viewer Role (built-in)')
    for (const { description } of builtInRoles)
      assert.match(description, /^[A-Z][A-Za-z ]+ Role \(built-in\)$/)
  })

  test('build on each other', () => {
    const pairs = [
      ...[
        ['registry.pull', 'viewer'],
        ['console_viewer', 'viewer'],
        ['apk.pull', 'viewer'],
        ['viewer', 'editor'],
      ],
      ...[
        ['editor', 'owner'],
        ['registry.push', 'owner'],
        ['registry.pull_token_creator', 'owner'],
      ],
    ]
    for (const [less = '', more = ''] of pairs) {
      assert.ok(held(less).isSubsetOf(held(more)), `${less} in ${more}`)
    }
  })

  test('let viewers and editors change nothing in access', () => {
    const isWrite = (name: string) =>
      /^(groups|group_invites|roles|role_bindings|identity|identity_providers|account_associations)\.(?!list$)/.test(
        name,
      )
    for (const role of ['viewer', 'editor', 'console_viewer', 'registry.pull', 'apk.pull']) {
      assert.deepEqual([...held(role)].filter(isWrite), [], role)
    }
    assert.deepEqual([...held('registry.pull_token_creator')].filter(isWrite).sort(), [
      'identity.create',
      'role_bindings.create',
    ])
    assert.ok(!held('registry.pull_token_creator').has('identity.list'))
  })

  test('are found by name only', () => {
    assert.equal(builtInRole('owner').name, 'owner')
    for (const name of ['', 'Owner', 'limited_owner', '__proto__'])
      assert.throws(() => builtInRole(name), /no built-in role/)
  })
})
