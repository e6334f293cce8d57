// The metadata that callers state about themselves.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { Identities as V1 } from '@stemma/api/gen/platform/events/identity_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { sql } from '../../server/store/sql.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, violations } from '../contract/examples.ts'

const { updateIdentityMetadata, getIdentity } = IdentitiesService.method
const { updateMetadata } = V1.method
const { exchange } = SecurityTokenService.method

const update = (stage: ExampleContext, metadata: JsonObject, token: string, updateMask?: string) =>
  stage.succeed(
    updateIdentityMetadata,
    { identityMetadata: metadata, ...(updateMask !== undefined && { updateMask }) },
    token,
  )

/** The fields of metadata that have a value. */
const filled = (metadata: JsonObject) =>
  Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== '' && value !== false))

const countStored = async ({ platform }: ExampleContext, identity: string) =>
  (await platform.store.query(sql`select identity from identity_metadata where identity = ${identity}`))
    .length

examples('the metadata of an identity', {
  async 'contains the uid and name of the caller, who may set the other fields'(stage) {
    const { identity: uid, token } = await stage.platform.addUser('ada@acme.example')
    const { name } = await stage.succeed(getIdentity, { uid }, token)
    const [givenName = '', ...others] = String(name).split(' ')
    const metadata = {
      company: 'Acme Inc.',
      jobTitle: 'SRE',
      updatesOptIn: true,
      utmSource: 'x',
      selfServe: true,
    }
    const updated = await update(stage, { ...metadata, uid: 'ignored', name: 'ignored' }, token)
    const familyName = others.join(' ')
    assert.deepEqual(filled(updated), filled({ uid, name, givenName, familyName, ...metadata } as JsonObject))
    assert.equal((await stage.succeed(getIdentity, { uid }, token)).company, 'Acme Inc.')
    assert.deepEqual(await update(stage, {}, token), updated, 'nothing changes')
  },

  async 'changes only the fields of the mask or, without one, those that are present'(stage) {
    const { identity: uid, token } = await stage.platform.addUser('bob@acme.example')
    await update(stage, { company: 'acme', jobTitle: 'SRE', product: 'images' }, token)
    const masked = await update(stage, { jobTitle: 'CTO', product: 'other' }, token, 'jobTitle,company')
    assert.deepEqual([masked.company, masked.jobTitle, masked.product], ['', 'CTO', 'images'])
    assert.equal((await stage.succeed(getIdentity, { uid }, token)).company, undefined)
    const replaced = await update(stage, { product: 'only' }, token, '*')
    assert.deepEqual([replaced.jobTitle, replaced.product], ['', 'only'])
    const unknown = { identityMetadata: {}, updateMask: 'shoeSize' }
    assert.deepEqual(violations(await stage.fail(updateIdentityMetadata, unknown, token)), ['updateMask'])
  },

  async 'over REST, a field that is null is cleared, and a misspelt one is an error'({ platform, door }) {
    if (door.name !== 'REST') return
    const { token } = await platform.addUser('lee@acme.example')
    const patch = async (body: JsonObject) => {
      const response = await fetch(`${platform.url}/iam/v2/identities:updateIdentityMetadata`, {
        ...{
          method: 'PATCH',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        },
      })
      return { status: response.status, body: (await response.json()) as JsonObject }
    }
    await patch({ identityMetadata: { company: 'acme', job_title: 'SRE' } })
    const { body } = await patch({ identity_metadata: { jobTitle: null, updatesOptIn: false } })
    assert.deepEqual([body.company, body.jobTitle], ['acme', ''])
    const misspelt = await patch({ identityMetadata: { jobTitel: 'SRE' } })
    assert.equal(misspelt.status, 400)
    assert.match(String(misspelt.body.message), /identityMetadata\.jobTitel: is not a field of this resource/)
    const masked = { identityMetadata: { jobTitel: 'x', jobTitle: 'CTO' }, updateMask: 'jobTitle' }
    assert.equal((await patch(masked)).body.jobTitle, 'CTO')
  },

  async 'is validated, and some fields are not stored'(stage) {
    const { token } = await stage.platform.addUser('eve@acme.example')
    const refuse = async (identityMetadata: JsonObject) =>
      violations(await stage.fail(updateIdentityMetadata, { identityMetadata }, token))
    assert.deepEqual(await refuse({ jobTitle: 'x'.repeat(256) }), ['jobTitle'])
    assert.deepEqual(await refuse({ company: 'a\nb' }), ['company'])
    assert.deepEqual(await refuse({ latestFormSubmitUrl: 'x'.repeat(2049) }), ['latestFormSubmitUrl'])
    assert.deepEqual(violations(await stage.fail(updateIdentityMetadata, {}, token)), ['identityMetadata'])
    assert.equal((await update(stage, { hubspotUtk: 'tracked' }, token)).hubspotUtk, undefined)
  },

  async 'belongs to the identity of the token, and is deleted with that identity'(stage) {
    const { platform, owner } = stage
    const robot = await platform.addIdentity(owner.organization)
    assert.equal((await update(stage, { jobTitle: 'robot' }, robot.token)).uid, robot.identity)
    assert.equal((await update(stage, {}, owner.token)).jobTitle, '')
    assert.equal(await countStored(stage, robot.identity), 1)
    await platform.deleteIdentity(robot.identity)
    assert.equal(await countStored(stage, robot.identity), 0)
    const refused = await stage.fail(updateIdentityMetadata, { identityMetadata: {} }, robot.token)
    assert.equal(refused.code, 16)
  },

  async 'cannot be changed with a limited token'(stage) {
    const { owner, door } = stage
    const request = { identity: owner.identity, scopes: [owner.organization] }
    const limited = (await door.call(exchange, request, owner.token)).body?.token as string
    const change = { identityMetadata: { company: 'evil' } }
    assert.equal((await stage.fail(updateIdentityMetadata, change, limited)).code, 7)
    assert.equal((await stage.fail(updateMetadata, { updatesOptIn: true }, limited)).code, 7)
    assert.equal((await update(stage, {}, owner.token)).company, '')
  },

  async 'has another form in v1'(stage) {
    const { token } = await stage.platform.addUser('kim@acme.example')
    const answers = { companyName: 'acme', jobTitle: 'SRE', product: 'images', providers: ['x'] }
    const request = { updatesOptIn: true, onboardingQuestions: answers }
    const v1 = await stage.succeed(updateMetadata, request, token)
    const { jobTitle, product, companyName } = v1.onboardingQuestions as JsonObject
    assert.deepEqual([v1.updatesOptIn, companyName, jobTitle, product], [true, 'acme', 'SRE', 'images'])
    const v2 = await update(stage, { product: 'charts' }, token)
    assert.deepEqual([v2.company, v2.jobTitle, v2.updatesOptIn], ['acme', 'SRE', true])
    const kept = await stage.succeed(updateMetadata, { onboardingQuestions: { jobTitle: 'CTO' } }, token)
    assert.deepEqual((kept.onboardingQuestions as JsonObject).product, 'charts')
    const tooLong = { onboardingQuestions: { companyName: 'x'.repeat(256) } }
    assert.deepEqual(violations(await stage.fail(updateMetadata, tooLong, token)), [
      'onboardingQuestions.companyName',
    ])
  },
})
