// Details of refusals: methods that a collection lacks, the order of checks, the kind of a missing resource, and the
// spelling of fields.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { create, toBinary } from '@bufbuild/protobuf'
import { UpdateGroupRequestSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import {
  AdvisoriesService,
  ListAdvisoriesRequestSchema,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { Code } from '../../server/aip/code.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { AttackedPlatform } from './hostile.ts'
import { assertRefused, assertRestRefused, restRefusal, startAttackedPlatform } from './hostile.ts'

onEachStore('refusals', (engine) => {
  let attacked: AttackedPlatform
  let doors: Door[]
  before(async () => {
    attacked = await startAttackedPlatform(engine)
    doors = [restDoor(attacked.platform.url), grpcDoor(attacked.platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await attacked.stop()
  })

  describe('of methods that a collection lacks', () => {
    const allowed = {
      '/iam/v2beta1/groups': 'GET, POST, HEAD, OPTIONS',
      '/iam/v2beta1/identities': 'GET, HEAD, OPTIONS',
      '/iam/v2beta1/roleBindings': 'GET, HEAD, OPTIONS',
      '/registry/v2/tags': 'GET, HEAD, OPTIONS',
      '/vulnerabilities/v2beta1/advisories': 'GET, HEAD, OPTIONS',
      '/iam/v1/groups': 'GET, POST, HEAD, OPTIONS',
      '/iam/v1/roles': 'GET, HEAD, OPTIONS',
      '/iam/v1/identities/lookup': 'GET, HEAD, OPTIONS',
      '/iam/v1/rolebindings/batch/x': 'POST, OPTIONS',
      '/iam/v2beta1/groups/x:requestGroupAccess': 'POST, OPTIONS',
      '/registry/v2beta1/repos/x/readme': 'GET, PATCH, HEAD, OPTIONS',
    }

    test('are 405 and name the methods that exist', async () => {
      for (const [target, allow] of Object.entries(allowed)) {
        const options = await attacked.rest({ verb: 'OPTIONS', target })
        assert.deepEqual(sorted(options.headers.get('allow')), sorted(allow), target)
        for (const verb of ['POST', 'PUT', 'PATCH', 'DELETE']) {
          if (allow.includes(verb)) continue
          const answer = await attacked.rest({ verb, target, body: '{}', headers: json })
          assertRestRefused(answer, Code.UNIMPLEMENTED, { http: 405 })
          assert.deepEqual(sorted(answer.headers.get('allow')), sorted(allow), `${verb} ${target}`)
        }
      }
    })

    test('do not apply to a resource of the collection, which has other methods', async () => {
      const { headers } = await attacked.rest({
        verb: 'OPTIONS',
        target: `/iam/v2beta1/groups/${attacked.group}`,
      })
      assert.deepEqual(sorted(headers.get('allow')), sorted('GET, POST, PATCH, DELETE, HEAD, OPTIONS'))
    })
  })

  const json = { 'content-type': 'application/json' }
  const sorted = (allow: string | undefined | null) => (allow ?? '').split(', ').sort()

  test('of an invalid value take precedence over those of an outdated If-Match', async () => {
    const target = `/iam/v2beta1/groups/${attacked.group}`
    const patch = (body: string) =>
      attacked.rest({ verb: 'PATCH', target, body, headers: { ...json, 'if-match': '"old"' } })
    assertRestRefused(await patch('{"name":"WRONG!"}'), Code.INVALID_ARGUMENT, { field: 'name' })
    assertRestRefused(await patch('{"name":"right"}'), Code.ABORTED, { http: 412 })
    const update = (name: string) =>
      attacked.grpc(
        'UpdateGroup',
        toBinary(
          UpdateGroupRequestSchema,
          create(UpdateGroupRequestSchema, { group: { uid: attacked.group, name } }),
        ),
        { 'if-match': '"old"' },
      )
    assertRefused(await update('WRONG!'), Code.INVALID_ARGUMENT, 'name')
    assertRefused(await update('right'), Code.ABORTED)
    await attacked.assertUnchanged()
  })

  test('include the kind of a missing resource, in every call', async () => {
    let count = 0
    for (const { method } of attacked.platform.app.endpoints) {
      if (method.scope.length === 0 || method.isStream) continue
      const request = method.scope.reduceRight<JsonObject | string>(
        (inner, { jsonName }) => ({ [jsonName]: inner }),
        'zzz',
      )
      for (const door of doors) {
        const { error } = await door.call(method.desc, request as JsonObject, attacked.platform.owner.token)
        if (error?.code !== Code.NOT_FOUND) continue
        count++
        assert.match(error.message, /^Not found: no [A-Z]\w+ with uid zzz$/, method.name)
        assert.doesNotMatch(error.message, /Empty|Struct|Response|List|Readme/, method.name)
        const [, deletedKind] = /\.Delete(\w+)$/.exec(method.name) ?? []
        if (deletedKind) assert.ok(error.message.includes(`no ${deletedKind} with`), error.message)
        if (method.desc.name === 'ListTagHistory') assert.match(error.message, /no Tag with/)
        // Tags are created in repos, mappings of external groups in identity providers.
        if (/\.v2beta1\..*\.Create(?!Tag|ExternalGroup)/.test(method.name))
          assert.match(error.message, /no Group with/)
      }
    }
    assert.ok(count > 100, `${count} calls`)
  })

  describe('identify fields', () => {
    const identities = () => `/iam/v2beta1/identities/${attacked.platform.owner.organization}`
    const post = async (body: object) => {
      const request = { verb: 'POST', target: identities(), body: JSON.stringify(body), headers: json }
      return restRefusal(await attacked.rest(request))
    }

    test('of a body in the spelling of the body', async () => {
      const camel = await post({ name: 'a', claimMatch: { issuerPattern: '(', subject: 'x' } })
      assert.deepEqual(camel.fields, ['claimMatch.issuerPattern'])
      const snake = await post({ name: 'a', claim_match: { issuer_pattern: '(', subject: 'x' } })
      assert.deepEqual(snake.fields, ['claim_match.issuer_pattern'])
      assert.match(snake.message, /^Invalid argument: claim_match\.issuer_pattern: /)
    })

    test('in descriptions, too, in the spelling of the body', async () => {
      const camel = await post({ name: 'a', claimMatch: { subject: 'x' } })
      assert.match(camel.message, /claimMatch\.issuer: is required, or issuerPattern in its place/)
      const snake = await post({ name: 'a', claim_match: { subject: 'x' } })
      assert.match(snake.message, /claim_match\.issuer: is required, or issuer_pattern in its place/)
      const both = await post({ name: 'a', claimMatch: { issuer: 'https://a.test', issuerPattern: 'x' } })
      assert.match(both.message, /cannot be set together with issuer;/)
    })

    test('of a query in the spelling of the query', async () => {
      const fieldOf = async (target: string, options = {}) =>
        restRefusal(await attacked.rest({ target, ...options })).fields
      const groups = '/iam/v2beta1/groups'
      assert.deepEqual(await fieldOf(`${groups}?pageSize=-1`), ['pageSize'])
      assert.deepEqual(await fieldOf(`${groups}?page_size=-1`), ['page_size'])
      assert.deepEqual(await fieldOf(`${groups}?uidp.childrenOf=x`), ['uidp.childrenOf'])
      assert.deepEqual(await fieldOf('/iam/v2beta1/identities?relationshipType=x'), ['relationshipType'])
      const target = `${groups}/${attacked.group}`
      const patch = { verb: 'PATCH', body: '{"name":"a"}', headers: json }
      assert.deepEqual(await fieldOf(`${target}?updateMask=nope`, patch), ['updateMask'])
      assert.deepEqual(await fieldOf(`${target}?update_mask=nope`, patch), ['update_mask'])
    })

    test('in proto spelling over gRPC', async () => {
      const { organization: parent, token } = attacked.platform.owner
      const identity = { name: 'a', claimMatch: { subject: 'x' } }
      const [, grpc] = doors as [Door, Door]
      const { error } = await grpc.call(IdentitiesService.method.createIdentity, { parent, identity }, token)
      assert.match(error?.message ?? '', /claim_match\.issuer: is required, or issuer_pattern in its place/)
    })

    test('that are wrong, not similar ones: latest_event_type is not reported as event_types', async () => {
      const request = create(ListAdvisoriesRequestSchema, { latestEventType: 99 as never }) // not a value of the enum
      const path = `/${AdvisoriesService.typeName}/ListAdvisories`
      const bytes = toBinary(ListAdvisoriesRequestSchema, request)
      assertRefused(
        await attacked.grpc('', bytes, { ':path': path }),
        Code.INVALID_ARGUMENT,
        'latest_event_type',
      )
    })
  })
})
