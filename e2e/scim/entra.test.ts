// The requests of Microsoft Entra ID, in the forms that its documentation shows: capitalised operations, booleans as
// text, and paths that contain names of schemas and filters.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import type { Platform } from '../../server/testing/platform.ts'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { ScimProvider } from './scim-platform.ts'
import { addScimProvider } from './scim-platform.ts'

const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
const objectId = 'b8a1f7f0-2f29-4b3e-9d4c-6d2d7e1c0a11'

const patchOf = (...Operations: JsonObject[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
})

onEachStore('Entra', (engine) => {
  let platform: Platform
  let entra: ScimProvider
  before(async () => {
    platform = await sharedPlatform(engine)
    entra = await addScimProvider(platform, platform.owner, {
      issuer: 'https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0',
      correlationRule: 'CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID',
    })
  })
  after(() => platform.stop())

  test('tests the connection, provisions a user, changes it, and deprovisions it', async () => {
    const { expect } = entra
    const probe = encodeURIComponent('userName eq "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"')
    const none = await expect(200, 'GET', `/Users?filter=${probe}`)
    assert.deepEqual([none.totalResults, none.Resources], [0, []])

    const { id } = await expect(201, 'POST', '/Users', {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User', enterprise],
      externalId: objectId,
      userName: 'ada@acme.example',
      active: true,
      addresses: null,
      displayName: 'Ada Lovelace',
      emails: [{ type: 'work', value: 'ada@acme.example', primary: true }],
      meta: { resourceType: 'User' },
      name: { formatted: 'Ada Lovelace', familyName: 'Lovelace', givenName: 'Ada' },
      phoneNumbers: null,
      preferredLanguage: null,
      roles: [],
      title: null,
      [enterprise]: { department: 'Engines', manager: null },
    })
    const byId = await expect(
      200,
      'GET',
      `/Users?filter=${encodeURIComponent(`externalId eq "${objectId}"`)}`,
    )
    assert.equal(byId.totalResults, 1)

    const changed = await expect(
      ...[200, 'PATCH', `/Users/${id}`],
      patchOf(
        { op: 'Replace', path: 'emails[type eq "work"].value', value: 'lovelace@acme.example' },
        { op: 'Replace', path: 'name.familyName', value: 'King' },
        { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '+44 20 7946 0000' },
        { op: 'Add', path: 'addresses[type eq "work"].locality', value: 'London' },
        { op: 'Add', path: `${enterprise}:employeeNumber`, value: '701984' },
        { op: 'Add', path: `${enterprise}:manager`, value: '2819c223-7f76-453a-919d-413861904646' },
        { op: 'Replace', path: `${enterprise}:department`, value: 'Analytics' },
        { op: 'Remove', path: 'displayName' },
      ),
    )
    assert.deepEqual(changed.emails, [{ type: 'work', value: 'lovelace@acme.example', primary: true }])
    assert.deepEqual(changed.name, { formatted: 'Ada Lovelace', familyName: 'King', givenName: 'Ada' })
    assert.deepEqual(changed.phoneNumbers, [{ type: 'mobile', value: '+44 20 7946 0000' }])
    assert.deepEqual(changed.addresses, [{ type: 'work', locality: 'London' }])
    assert.deepEqual(changed[enterprise], {
      ...{ department: 'Analytics', employeeNumber: '701984' },
      manager: { value: '2819c223-7f76-453a-919d-413861904646' },
    })
    assert.equal(changed.displayName, undefined)

    const dotted = await expect(
      ...[200, 'PATCH', `/Users/${id}`],
      patchOf({
        op: 'replace',
        value: {
          displayName: 'Ada King',
          active: 'True',
          'name.givenName': 'Augusta',
          'emails[type eq "work"].primary': 'False',
          [`${enterprise}:costCenter`]: '4130',
        },
      }),
    )
    assert.equal((dotted.name as JsonObject).givenName, 'Augusta')
    assert.deepEqual(dotted.emails, [{ type: 'work', value: 'lovelace@acme.example', primary: false }])
    assert.equal((dotted[enterprise] as JsonObject).costCenter, '4130')

    for (const [value, active] of [
      ['False', false],
      ['True', true],
      [false, false],
    ] as const) {
      const switched = await expect(
        ...[200, 'PATCH', `/Users/${id}`],
        patchOf({ op: 'Replace', path: 'active', value }),
      )
      assert.equal(switched.active, active)
    }
    await expect(204, 'DELETE', `/Users/${id}`)
    await expect(404, 'GET', `/Users/${id}`)
  })

  test('provisions a group and its members', async () => {
    const { expect } = entra
    const ids: string[] = []
    for (const name of ['one', 'two', 'three'])
      ids.push(String((await expect(201, 'POST', '/Users', { userName: name, externalId: name })).id))
    const byName = `/Groups?excludedAttributes=members&filter=${encodeURIComponent('displayName eq "Engineers"')}`
    assert.equal((await expect(200, 'GET', byName)).totalResults, 0)
    const { id } = await expect(201, 'POST', '/Groups', {
      schemas: [
        'urn:ietf:params:scim:schemas:core:2.0:Group',
        'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group',
      ],
      externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
      displayName: 'Engineers',
      meta: { resourceType: 'Group' },
    })
    const { Resources } = await expect(200, 'GET', byName)
    assert.deepEqual(
      (Resources as JsonObject[]).map(({ members }) => members),
      [undefined],
    )
    await expect(
      ...[200, 'PATCH', `/Groups/${id}`],
      patchOf({ op: 'Add', path: 'members', value: ids.map((value) => ({ $ref: null, value })) }),
    )
    const isMember = async (member: string | undefined) => {
      const filter = encodeURIComponent(`id eq "${id}" and members eq "${member}"`)
      return (await expect(200, 'GET', `/Groups?filter=${filter}&attributes=id`)).totalResults === 1
    }
    assert.ok(await isMember(ids[0]))
    await expect(
      ...[200, 'PATCH', `/Groups/${id}`],
      patchOf(
        { op: 'Remove', path: 'members', value: [{ $ref: null, value: ids[0] ?? '' }] },
        { op: 'Remove', path: `members[value eq "${ids[1]}"]` },
      ),
    )
    assert.deepEqual(await Promise.all(ids.map(isMember)), [false, false, true])
    const renamed = await expect(
      ...[200, 'PATCH', `/Groups/${id}`],
      patchOf({ op: 'Replace', path: 'displayName', value: 'Engineering' }),
    )
    assert.equal(renamed.displayName, 'Engineering')
    await expect(204, 'DELETE', `/Groups/${id}`)
  })
})
