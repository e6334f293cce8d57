import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { isUid } from '../aip/uid.ts'
import type { BuiltInRole } from './built-in-roles.ts'
import { builtInRole, builtInRoles } from './built-in-roles.ts'
import { capabilityNamed } from './capabilities.ts'

const capabilitiesOf = (name: string) => new Set(builtInRole(name).capabilities)

/** Capabilities with greater numbers are our own, and may be added to built-in roles. */
const lastPublishedNumber = 10_000
const publishedCapabilitiesOf = ({ capabilities }: BuiltInRole) =>
  capabilities.filter((name) => (capabilityNamed(name)?.number ?? 0) <= lastPublishedNumber)

/** Capabilities that the public platform reserves for itself, and that only owners have here. */
const extraCapabilitiesOfOwner = [
  ...['approve', 'create', 'delete', 'update'].map((verb) => `advisories.${verb}`),
  ...['registry.deployments.create', 'registry.deployments.update', 'registry.settings.update'],
]

describe('built-in roles', () => {
  test('contain as many capabilities as the published roles', () => {
    const counts = builtInRoles.map((role) => [role.name, publishedCapabilitiesOf(role).length])
    assert.deepEqual(Object.fromEntries(counts), {
      // 138 as in the published role, and `extraCapabilitiesOfOwner`.
      owner: 145,
      editor: 62,
      viewer: 51,
      console_viewer: 45,
      'registry.pull': 10,
      'registry.push': 20,
      'registry.pull_token_creator': 15,
      'apk.pull': 3,
    })
  })

  test('never gain or lose a capability that published clients know', () => {
    const digests = builtInRoles.map((role) => {
      const names = publishedCapabilitiesOf(role).sort().join('\n')
      const digest = createHash('sha256').update(names).digest('hex')
      return [role.name, digest.slice(0, 16)]
    })
    assert.deepEqual(Object.fromEntries(digests), {
      owner: '856cd1ca575938ac',
      editor: 'd18be48011ff03b0',
      viewer: '0d3536aaa7142097',
      console_viewer: '2ce1420b12b6128b',
      'registry.pull': '5e76147a00d7a12b',
      'registry.push': '712d369ba8f0e7ed',
      'registry.pull_token_creator': '7bacf70164649a59',
      'apk.pull': '7700d5114d7ff21b',
    })
  })

  test('contain each capability once', () => {
    for (const { name, capabilities } of builtInRoles)
      assert.equal(capabilitiesOf(name).size, capabilities.length, name)
  })

  test('let the owner write advisories, deployments and registry settings, unlike the published role', () => {
    const owner = publishedCapabilitiesOf(builtInRole('owner'))
    for (const name of extraCapabilitiesOfOwner) assert.ok(owner.includes(name), name)
    assert.equal(owner.length - extraCapabilitiesOfOwner.length, 138)
  })

  test('contain no capability that is reserved for the platform, except those of owners', () => {
    for (const { name, capabilities } of builtInRoles) {
      for (const capability of capabilities) {
        if (name === 'owner' && extraCapabilitiesOfOwner.includes(capability)) continue
        assert.equal(capabilityNamed(capability)?.internalOnly, false, `${name}: ${capability}`)
      }
      assert.ok(!capabilities.includes('internal'), name)
    }
  })

  test('have uids that never change', () => {
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

  test('have distinct uids of 40 hex digits', () => {
    for (const { uid } of builtInRoles) assert.ok(isUid(uid) && uid.length === 40)
    assert.equal(new Set(builtInRoles.map(({ uid }) => uid)).size, builtInRoles.length)
  })

  test('are described in the published style', () => {
    assert.equal(builtInRole('viewer').description, 'Viewer Role (built-in)')
    for (const { description } of builtInRoles)
      assert.match(description, /^[A-Z][A-Za-z ]+ Role \(built-in\)$/)
  })

  test('include smaller roles', () => {
    const pairs = [
      ['registry.pull', 'viewer'],
      ['console_viewer', 'viewer'],
      ['apk.pull', 'viewer'],
      ['viewer', 'editor'],
      ['editor', 'owner'],
      ['registry.push', 'owner'],
      ['registry.pull_token_creator', 'owner'],
    ]
    for (const [smaller = '', larger = ''] of pairs) {
      assert.ok(capabilitiesOf(smaller).isSubsetOf(capabilitiesOf(larger)), `${smaller} in ${larger}`)
    }
  })

  test('let viewers and editors change nothing about access', () => {
    const changesAccess = (name: string) =>
      /^(groups|group_invites|roles|role_bindings|identity|identity_providers|account_associations)\.(?!list$)/.test(
        name,
      )
    for (const role of ['viewer', 'editor', 'console_viewer', 'registry.pull', 'apk.pull']) {
      assert.deepEqual([...capabilitiesOf(role)].filter(changesAccess), [], role)
    }
    assert.deepEqual([...capabilitiesOf('registry.pull_token_creator')].filter(changesAccess).sort(), [
      'identity.create',
      'role_bindings.create',
    ])
    assert.ok(!capabilitiesOf('registry.pull_token_creator').has('identity.list'))
  })

  test('are found by their exact name', () => {
    assert.equal(builtInRole('owner').name, 'owner')
    for (const name of ['', 'Owner', 'limited_owner', '__proto__'])
      assert.throws(() => builtInRole(name), /no built-in role/)
  })
})
