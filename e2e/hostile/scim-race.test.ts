// The first sign-in of a person at the same time as a change of their SCIM user or SCIM groups.
// Only on PostgreSQL, because SQLite runs one write at a time. One of the two transactions is held
// open until the other waits for it.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { userUid } from '../../server/aip/uid.ts'
import { peopleOf } from '../../server/authentication.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { patchGroup } from '../../server/scim/groups/groups.ts'
import { linkPerson, requireProvisioned } from '../../server/scim/users/access.ts'
import { patchUser } from '../../server/scim/users/users.ts'
import { sql } from '../../server/store/sql.ts'
import type { Work } from '../../server/store/work.ts'
import { all } from '../../server/store/work.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import type { ScimProvider } from '../scim/scim-platform.ts'
import { addScimProvider } from '../scim/scim-platform.ts'
import { callRest } from '../sign-in/organizations.ts'

const skip = process.env.STEMMA_TEST_POSTGRES ? false : 'PostgreSQL is not running'

describe('a person who is removed from a group or deactivated during the first sign-in', { skip }, () => {
  let platform: Platform
  let acme: ScimProvider
  before(async () => {
    platform = await startPlatform('postgres')
    acme = await addScimProvider(platform, platform.owner)
    const roles = await callRest('GET', `${platform.url}/iam/v2beta1/roles?name=viewer`, platform.owner.token)
    const [{ uid: roleUid }] = roles.roles as [{ uid: string }]
    await callRest(
      'POST',
      `${platform.url}/iam/v2beta1/externalGroupRoleMappings/${acme.uid}`,
      platform.owner.token,
      { externalGroupId: 'admins', roleUid, scope: platform.owner.organization },
    )
  })
  after(() => platform.stop())

  /**
   * Runs `first` in a transaction, then starts `second`. The transaction stays open until `second`
   * waits for a lock or has ended. Returns when both have ended.
   */
  async function overlap(first: () => Work<unknown>, second: () => Promise<unknown>): Promise<void> {
    let hasEnded = false
    let start = () => {}
    const started = new Promise<void>((resolve) => {
      start = resolve
    })
    const holding = platform.store.write(function* () {
      yield* first()
      start()
      let isWaiting = false
      while (!isWaiting && !hasEnded) {
        // A transaction sees the same activity until this is called.
        yield sql`select pg_stat_clear_snapshot()`
        const rows = yield* all(sql`select pid from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`)
        isWaiting = rows.length > 0
      }
    })
    await started
    await second().finally(() => {
      hasEnded = true
    })
    await holding
  }

  const contextOf = ({ uid }: ScimProvider) => ({
    ...{ provider: uid, now: Date.now, random: randomBytes, ifMatch: undefined },
    onIgnoredMembers() {},
  })

  async function addMember(externalId: string) {
    const person = await platform.addIdentity(platform.owner.organization)
    const { id } = await acme.expect(201, 'POST', '/Users', { userName: externalId, externalId })
    const members = [{ value: id }]
    const group = await acme.expect(201, 'POST', '/Groups', { displayName: 'admins', members })
    const removal = {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
      Operations: [{ op: 'remove', path: `members[value eq "${id}"]` }],
    }
    /** As `ensureSignedIn` in server/authentication.ts. */
    function* signIn(): Work<void> {
      const user = yield* requireProvisioned(acme.uid, externalId)
      yield* linkPerson(acme.uid, String(user), person.identity, Date.now())
    }
    return { groupId: String(group.id), removal, signIn, identity: person.identity }
  }

  const membershipsOf = (identity: string) =>
    platform.store.query(sql`select external_group from external_group_members where identity = ${identity}`)

  test('is not a member afterwards, if the sign-in began first', async () => {
    const { groupId, removal, signIn, identity } = await addMember('early')
    await overlap(signIn, () => acme.expect(200, 'PATCH', `/Groups/${groupId}`, removal))
    assert.deepEqual(await membershipsOf(identity), [])
  })

  test('is not a member afterwards, if the removal began first', async () => {
    const { groupId, removal, signIn, identity } = await addMember('late')
    const remove = () => patchGroup(contextOf(acme), groupId, removal)
    await overlap(remove, () => platform.store.write(signIn))
    assert.deepEqual(await membershipsOf(identity), [])
  })

  for (const first of ['sign-in', 'deactivation'])
    test(`is suspended afterwards, if the ${first} began first and the sign-in uses another provider`, async () => {
      const externalId = `deactivated during ${first}`
      const { id } = await acme.expect(201, 'POST', '/Users', { userName: externalId, externalId })
      const person = { issuer: 'https://login.acme.example', subject: externalId, name: 'ada' }
      const people = peopleOf({ access: operatorAccess, now: Date.now, random: randomBytes })
      const signIn = () => people.ensure(person)
      const deactivation = {
        schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
        Operations: [{ op: 'replace', path: 'active', value: false }],
      }
      const deactivate = () => patchUser(contextOf(acme), String(id), deactivation)
      if (first === 'sign-in') await overlap(signIn, () => platform.store.write(deactivate))
      else await overlap(deactivate, () => platform.store.write(signIn))
      const uid = userUid(person.issuer, person.subject)
      const rows = await platform.store.query(sql`select i.suspended, s.place from identities i
        join provider_sign_outs s on s.identity = i.uid where i.uid = ${uid}`)
      assert.deepEqual(rows, [[1, platform.owner.organization]])
    })

  test('is a member afterwards if nobody removes them', async () => {
    const { signIn, identity } = await addMember('member')
    await platform.store.write(signIn)
    assert.equal((await membershipsOf(identity)).length, 1)
  })
})
