// Attackers who have an invite: one for the e-mail address of somebody else, or one of their own organization, with
// which they can open the form for new accounts.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import type { Configuration } from 'openid-client'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { sql } from '../../server/store/sql.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { callRest } from '../sign-in/organizations.ts'
import {
  addAccount,
  begin,
  password,
  redeem,
  relyingParty,
  signIn,
  startSignInPlatform,
} from '../sign-in/sign-in.ts'
import { Visitor } from '../sign-in/visitor.ts'

const attackerPassword = 'the password of an attacker'

/** The status that `Visitor` reports for a redirect to an unknown server, here to the client after a sign-in. */
const redirected = 0

onEachStore('an attacker with an invite', (engine) => {
  let platform: Platform
  let party: Configuration
  let attacker: TestIdentity
  let doors: Door[]
  before(async () => {
    platform = await startSignInPlatform(engine)
    party = await relyingParty(platform.url)
    attacker = await platform.addOrganization('attackers')
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  async function invite(fields: JsonObject = {}, owner = platform.owner): Promise<string> {
    const url = `${platform.url}/iam/v2beta1/groupInvites/${owner.organization}`
    const body = { roleUid: builtInRole('viewer').uid, ttl: '600s', ...fields }
    return String((await callRest('POST', url, owner.token, body)).code)
  }

  /** Sends the form for a new account, even if the page does not offer it. */
  async function makeAccount(code: string, email: string, chosenPassword = attackerPassword) {
    const visitor = new Visitor(platform.url)
    const begun = await begin(party, { invite: code })
    const page = await visitor.open(begun.url)
    return {
      begun,
      visitor,
      end: await visitor.post(`${page.url}/account`, { email, password: chosenPassword }),
    }
  }

  const subjectOf = async ({ begun, end }: Awaited<ReturnType<typeof makeAccount>>) =>
    (await redeem(party, begun, end)).claims()?.sub ?? ''

  const isMember = async (identity: string) => {
    const group = platform.owner.organization
    const rows = await platform.store.query(
      sql`select uid from role_bindings where identity = ${identity} and parent = ${group}`,
    )
    return rows.length > 0
  }

  describe('for the address of somebody else', () => {
    const refused = /is not the code of an invite that you can accept/

    test('cannot accept it by typing the address, in any of the forms', async () => {
      const email = 'vic@example.com'
      const code = await invite({ email })
      assert.match((await makeAccount(code, email)).end.alert ?? '', refused)
      const made = await makeAccount(await invite({}, attacker), email)
      const identity = await subjectOf(made)
      const open = async (visitor: Visitor) => visitor.open((await begin(party, { invite: code })).url)
      const fresh = new Visitor(platform.url)
      const byPassword = await fresh.submit(await open(fresh), { email, password: attackerPassword })
      assert.match(byPassword.alert ?? '', refused)
      const bySession = await made.visitor.submitTo(await open(made.visitor), '/continue')
      assert.match(bySession.alert ?? '', refused)
      const token = await platform.tokenOf(identity)
      for (const door of doors) {
        const { error } = await door.call(Auth.method.register, { code }, token)
        assert.equal(error?.code, 3)
      }
      assert.equal(await isMember(identity), false)
    })

    test('cannot accept it with an account that an earlier version of the server stored without verifying its address', async () => {
      const email = 'una@example.com'
      const identity = await addAccount(platform, email)
      await platform.store.write(function* () {
        yield sql`update accounts set is_vouched = 0 where email = ${email}`
      })
      const visitor = new Visitor(platform.url)
      const page = await visitor.open((await begin(party, { invite: await invite({ email }) })).url)
      assert.match((await visitor.submit(page, { email, password })).alert ?? '', refused)
      assert.equal(await isMember(identity), false)
    })

    test('leaves it usable for the person whose address the operator has verified', async () => {
      const email = 'wim@example.com'
      const code = await invite({ email: 'Wim@Example.com', singleUse: true })
      await makeAccount(code, email)
      const identity = await addAccount(platform, email)
      await signIn(platform, email, { invite: code })
      assert.equal(await isMember(identity), true)
    })
  })

  describe('of their own organization', () => {
    test('does not learn whether an address has an account', async () => {
      await addAccount(platform, 'known@example.com')
      await makeAccount(await invite(), 'claimed@example.com', password)
      const code = await invite({}, attacker)
      const answers = []
      for (const email of ['known@example.com', 'claimed@example.com', 'free@example.com']) {
        const made = await makeAccount(code, email)
        const { status, alert, title, url } = made.end
        answers.push({ status, alert, title, hasCode: /[?&]code=/.test(url) })
        assert.notEqual(await subjectOf(made), '')
      }
      assert.deepEqual(answers[0], { status: redirected, alert: undefined, title: '', hasCode: true })
      assert.deepEqual(answers[1], answers[0])
      assert.deepEqual(answers[2], answers[0])
    })

    test('can neither reserve an address nor sign in to the account of its owner', async () => {
      const email = 'zoe@example.com'
      const squatter = await subjectOf(await makeAccount(await invite({}, attacker), email))
      const zoe = await subjectOf(await makeAccount(await invite(), email, password))
      assert.notEqual(zoe, squatter)
      assert.equal((await signIn(platform, email)).tokens.claims()?.sub, zoe)
      assert.equal(await isMember(zoe), true)
      assert.equal(await isMember(squatter), false)
      const verified = await addAccount(platform, email)
      await makeAccount(await invite({}, attacker), email)
      assert.equal((await signIn(platform, email)).tokens.claims()?.sub, verified)
    })

    test('cannot try passwords of others without limit', async () => {
      const email = 'yan@example.com'
      await addAccount(platform, email)
      const code = await invite({}, attacker)
      const statuses: number[] = []
      for (let count = 0; count < 12; count++)
        statuses.push((await makeAccount(code, email, `guess number ${count}`)).end.status)
      assert.deepEqual(statuses, [...Array(10).fill(redirected), 429, 429])
    })
  })
})
