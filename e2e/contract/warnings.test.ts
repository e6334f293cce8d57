// Probable mistakes that published configurations contain: the values are stored, with a warning.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { readWarnings } from '@stemma/api'
import { GroupAccountAssociations } from '@stemma/api/gen/platform/iam/account_associations_pb.ts'
import { Identities } from '@stemma/api/gen/platform/iam/identity_pb.ts'
import { AccountAssociationsService } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { toCamel } from '../../server/aip/field-path.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { jwks } from '../sign-in/key-sets.ts'

const { createIdentity, updateIdentity, getIdentity } = IdentitiesService.method
const { createAccountAssociation, updateAccountAssociation, checkAccountAssociation } =
  AccountAssociationsService.method

const issuer = 'https://accounts.google.com'
const staticKeys = (issuerKeys: string) => ({ issuer, subject: 'robot', issuerKeys })
const aws = (arn: string) => ({ awsAccount: '123456789012', arn, userId: 'foo' })

onEachStore('warnings', (engine) => {
  let platform: Platform
  let doors: Door[] = []
  before(async () => {
    platform = await startPlatform(engine)
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  /** Makes a call that must succeed. Returns its response and warnings, and whether the response was replayed. */
  async function send(door: Door, method: DescMethod, request: JsonObject, headers = {}) {
    const { result, header } = await door.send(method, request, platform.owner.token, headers)
    assert.ok(result.body, `${door.name} ${method.name}: ${result.error?.message}`)
    const text = header('stemma-warning')
    const warnings = readWarnings(new Headers(text === undefined ? {} : { 'stemma-warning': text }))
    return { body: result.body, warnings, isReplayed: header('idempotent-replayed') === 'true' }
  }
  const fieldsOf = ({ warnings }: { warnings: { field: string }[] }) => warnings.map(({ field }) => field)

  const identity = (relationship: JsonObject) => ({
    parent: platform.owner.organization,
    identity: { name: 'robot', ...relationship },
  })

  test('name the field of each value that is probably a mistake, in the spelling of the door', async () => {
    const cases: [JsonObject, string[]][] = [
      [{ staticKeys: staticKeys('keys') }, ['static_keys.issuer_keys']],
      [{ staticKeys: staticKeys(jwks) }, []],
      [{ awsIdentity: aws('bar') }, ['aws_identity.arn']],
      [{ awsIdentity: aws('arn:aws:iam::210987654321:user/x') }, ['aws_identity.arn']],
      [{ awsIdentity: aws('arn:aws:iam::123456789012:user/x') }, []],
      [{ claimMatch: { issuer, subjectPattern: '.*' } }, ['claim_match.subject_pattern']],
      [
        { claimMatch: { issuer, subjectPattern: '.+', claimPatterns: { email: '.*' } } },
        ['claim_match.subject_pattern'],
      ],
      [{ claimMatch: { issuer, subjectPattern: '.*', claims: { email: 'x' } } }, []],
      [{ claimMatch: { issuer, subjectPattern: 'repo:acme/.*' } }, []],
      [
        {
          claimMatch: {
            ...{ issuer, subjectPattern: '(https|http)://.+\\.example\\.com/x' },
            audiencePattern: '(https://.+\\.example\\.com|sts)/x',
            claimPatterns: {
              job_ref: '(?i)https://.+\\.example\\.com',
              other: 'https?://.+\\.example\\.com',
            },
          },
        },
        [
          ...['claim_match.subject_pattern', 'claim_match.audience_pattern'],
          'claim_match.claim_patterns[job_ref]',
        ],
      ],
    ]
    for (const door of doors) {
      for (const [relationship, fields] of cases) {
        const created = await send(door, createIdentity, identity(relationship))
        const spelled = door.name === 'REST' ? fields.map(toCamel) : fields
        assert.deepEqual(fieldsOf(created), spelled, JSON.stringify(relationship))
        const { uid } = created.body as { uid: string }
        const read = await send(door, getIdentity, { uid })
        assert.deepEqual([read.body, read.warnings], [created.body, []])
      }
    }
  })

  test('say what would be right, and never contain the value', async () => {
    const [door] = doors as [Door]
    const { warnings } = await send(door, createIdentity, identity({ staticKeys: staticKeys('keyz') }))
    assert.match(
      warnings[0]?.description ?? '',
      /^must be a JSON Web Key Set: \{"keys":\[\.\.\.\]\}; nobody can assume the identity/,
    )
    assert.ok(!JSON.stringify(warnings).includes('keyz'))
  })

  test('of an update are only about values that it changes', async () => {
    for (const door of doors) {
      const created = await send(door, createIdentity, identity({ awsIdentity: aws('bar') }))
      const uid = created.body.uid as string
      const change = (fields: JsonObject) => send(door, updateIdentity, { identity: { uid, ...fields } })
      assert.deepEqual(fieldsOf(await change({ name: 'renamed' })), [])
      assert.equal((await change({ awsIdentity: { arn: 'baz' } })).warnings.length, 1)
      assert.deepEqual(fieldsOf(await change({ awsIdentity: { arnPattern: 'bar-pattern' } })), [])
    }
  })

  test('are repeated with the stored response of an idempotency key, also through the other door', async () => {
    const request = identity({ staticKeys: staticKeys('keys') })
    for (const [first, second] of [doors, doors.toReversed()] as [Door, Door][]) {
      const headers = { 'idempotency-key': `warned-${first.name}` }
      const created = await send(first, createIdentity, request, headers)
      const repeated = await send(second, createIdentity, request, headers)
      assert.deepEqual([created.isReplayed, repeated.isReplayed], [false, true])
      assert.deepEqual(fieldsOf(repeated).map(toCamel), fieldsOf(created).map(toCamel))
      assert.equal(repeated.warnings[0]?.description, created.warnings[0]?.description)
    }
  })

  test('of v1 name the fields of v1', async () => {
    for (const door of doors) {
      const { create, update } = Identities.method
      const keys = { issuer, subject: 'robot', issuerKeys: 'keys' }
      const parentId = platform.owner.organization
      const created = await send(door, create, { parentId, identity: { name: 'v1', static: keys } })
      assert.deepEqual(fieldsOf(created).map(toCamel), ['static.issuerKeys'])
      const id = created.body.id as string
      const changed = { id, name: 'v1', static: { ...keys, issuerKeys: 'keyz' } }
      assert.deepEqual(fieldsOf(await send(door, update, changed)).map(toCamel), ['static.issuerKeys'])
    }
  })

  test('are given for an invalid project number, which a check then reports', async () => {
    for (const [at, door] of doors.entries()) {
      const owner = await platform.addOrganization(`projects-${at}`)
      const call = async (method: DescMethod, request: JsonObject) => {
        const { result, header } = await door.send(method, request, owner.token, {})
        assert.ok(result.body, result.error?.message)
        return { body: result.body, warning: header('stemma-warning') }
      }
      const google = { projectId: '4x8k2', projectNumber: 'rz0q3h' }
      const parent = owner.organization
      const accountAssociation = { name: 'accounts', google }
      const created = await call(createAccountAssociation, { parent, accountAssociation })
      assert.deepEqual(created.body.google, google)
      assert.match(created.warning ?? '', /field="google\.(project_number|projectNumber)"$/)
      const provider = { uid: parent, providerType: 'ACCOUNT_PROVIDER_TYPE_GOOGLE' }
      assert.equal((await call(checkAccountAssociation, provider)).body.reason, 'INVALID_ACCOUNT')
      const rename = { accountAssociation: { uid: parent, name: 'renamed' } }
      assert.equal((await call(updateAccountAssociation, rename)).warning, undefined)
      const v1 = { group: parent, name: 'v1', google: { projectId: 'p', projectNumber: 'other' } }
      assert.match((await call(GroupAccountAssociations.method.update, v1)).warning ?? '', /google\.project/)
      const valid = { accountAssociation: { uid: parent, google: { projectNumber: '213411233' } } }
      assert.equal((await call(updateAccountAssociation, valid)).warning, undefined)
      assert.equal((await call(checkAccountAssociation, provider)).body.reason, 'CLOUD_NOT_REACHABLE')
    }
  })
})
