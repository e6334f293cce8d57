// The requests of Okta, in the forms that its documentation shows: PUT to change users, and PATCH to deactivate them
// and to change groups. The operations that deactivate a user or rename a group have no path.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import type { Platform } from '../../server/testing/platform.ts'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { ScimProvider } from './scim-platform.ts'
import { addScimProvider } from './scim-platform.ts'

const user = {
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
  userName: 'ada@acme.example',
  name: { givenName: 'Ada', familyName: 'Lovelace' },
  emails: [{ primary: true, value: 'ada@acme.example', type: 'work' }],
  displayName: 'Ada Lovelace',
  locale: 'en-US',
  externalId: '00ujl29u0le5T6Aj10h7',
  groups: [],
  password: '1mz050nq',
  active: true,
}

const patchOf = (...Operations: JsonObject[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
})

onEachStore('Okta', (engine) => {
  let platform: Platform
  let okta: ScimProvider
  before(async () => {
    platform = await sharedPlatform(engine)
    okta = await addScimProvider(platform, platform.owner, { issuer: 'https://acme.okta.example' })
  })
  after(() => platform.stop())

  test('looks a user up, creates, replaces, deactivates and reactivates it', async () => {
    const { expect } = okta
    const lookUp = `/Users?filter=${encodeURIComponent('userName eq "ada@acme.example"')}&startIndex=1&count=100`
    assert.equal((await expect(200, 'GET', lookUp)).totalResults, 0)
    const { id, ...created } = await expect(201, 'POST', '/Users', user)
    assert.equal(created.password, undefined)
    assert.equal(created.groups, undefined)
    const found = await expect(200, 'GET', lookUp)
    assert.deepEqual([found.totalResults, found.itemsPerPage, found.startIndex], [1, 1, 1])
    const page = await expect(200, 'GET', '/Users?startIndex=1&count=100')
    assert.equal(page.totalResults, 1)

    const current = await expect(200, 'GET', `/Users/${id}`)
    const replaced = await expect(200, 'PUT', `/Users/${id}`, {
      ...current,
      name: { givenName: 'Augusta', familyName: 'King' },
      displayName: 'Augusta King',
    })
    assert.deepEqual(replaced.name, { givenName: 'Augusta', familyName: 'King' })
    assert.equal(replaced.id, id)
    for (const active of [false, true, false]) {
      const switched = await expect(
        ...[200, 'PATCH', `/Users/${id}`],
        patchOf({ op: 'replace', value: { active } }),
      )
      assert.equal(switched.active, active)
    }
    assert.equal((await expect(200, 'PUT', `/Users/${id}`, { ...current, active: true })).active, true)
  })

  test('pushes a group with its members', async () => {
    const { expect } = okta
    const ids: string[] = []
    for (const name of ['one', 'two'])
      ids.push(
        String((await expect(201, 'POST', '/Users', { ...user, userName: name, externalId: name })).id),
      )
    const members = ids.map((value) => ({ value, display: 'somebody' }))
    const { id } = await expect(201, 'POST', '/Groups', {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
      displayName: 'Engineers',
      members: members.slice(0, 1),
    })
    assert.equal((await expect(200, 'GET', `/Groups?startIndex=1&count=100`)).totalResults, 1)
    await expect(
      ...[200, 'PATCH', `/Groups/${id}`],
      patchOf({ op: 'replace', value: { id: String(id), displayName: 'Engineering' } }),
    )
    const after = await expect(
      ...[200, 'PATCH', `/Groups/${id}`],
      patchOf(
        { op: 'remove', path: `members[value eq "${ids[0]}"]` },
        { op: 'add', path: 'members', value: members.slice(1) },
      ),
    )
    assert.equal(after.displayName, 'Engineering')
    assert.deepEqual(
      (after.members as JsonObject[]).map(({ value }) => value),
      ids.slice(1),
    )
    const all = await expect(
      200,
      'PATCH',
      `/Groups/${id}`,
      patchOf({ op: 'replace', path: 'members', value: members }),
    )
    assert.equal((all.members as JsonObject[]).length, 2)
    const put = await expect(200, 'PUT', `/Groups/${id}`, { ...all, members: [] })
    assert.equal(put.members, undefined)
    await expect(204, 'DELETE', `/Groups/${id}`)
  })
})
