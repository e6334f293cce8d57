// Tests how request messages are made from path, query and body, in particular for PATCH.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DescMessage, JsonObject } from '@bufbuild/protobuf'
import { toJson } from '@bufbuild/protobuf'
import { FieldBehavior } from '@stemma/api/gen/google/api/field_behavior_pb.ts'
import type { UpdateGroupRequest } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import type { HttpBinding } from '@stemma/api/http-binding.ts'
import { describeMethod, describeMethods } from '@stemma/api/method.ts'
import { StatusError } from '../../aip/errors.ts'
import { declareMessages } from '../../testing/declared-messages.ts'
import type { Endpoint } from '../door.ts'
import { bindRequest } from './bind.ts'
import { makeRoutes, splitPath } from './routes.ts'

const groups = makeRoutes(describeMethods(GroupsService).map((method) => ({ method })))

function bind(verb: string, target: string, body = '', routes = groups) {
  const [path = '', query = ''] = target.split('?')
  const match = routes.match(verb, splitPath(path))
  assert.ok(match, `${verb} ${path}`)
  return bindRequest(match, query, body)
}

const jsonOf = (desc: DescMessage, ...args: Parameters<typeof bind>) =>
  toJson(desc, bind(...args)) as JsonObject

function assertRejected(run: () => unknown, field?: string, description = /./): void {
  assert.throws(run, (error) => {
    assert.ok(error instanceof StatusError, String(error))
    assert.equal(error.http, 400)
    assert.equal(error.violations[0]?.field, field)
    assert.match(error.violations[0]?.description ?? error.message, description)
    return true
  })
}

describe('GET and DELETE', () => {
  test('read the path and the query', () => {
    const list = '/iam/v2beta1/groups?uidp.descendants_of=a&page_size=5&order_by=name%20desc&skip=3'
    assert.deepEqual(jsonOf(GroupsService.method.listGroups.input, 'GET', list), {
      uidp: { descendantsOf: 'a' },
      pageSize: 5,
      orderBy: 'name desc',
      skip: 3,
    })
    assert.deepEqual(jsonOf(GroupsService.method.deleteGroup.input, 'DELETE', '/iam/v2beta1/groups/a/b'), {
      uid: 'a/b',
    })
  })

  test('refuse a query parameter for a field that the path sets', () => {
    const get = GroupsService.method.getGroup.input
    for (const path of ['a?uid=b&uid=c', '?uid=b'])
      assertRejected(() => jsonOf(get, 'GET', `/iam/v2beta1/groups/${path}`), 'uid', /is not a parameter/)
  })

  test('ignore the body', () => {
    assert.deepEqual(jsonOf(GroupsService.method.getGroup.input, 'GET', '/iam/v2beta1/groups/a', '{"uid":'), {
      uid: 'a',
    })
  })
})

describe('POST', () => {
  const create = (target: string, body: string) =>
    jsonOf(GroupsService.method.createGroup.input, 'POST', `/iam/v2beta1/groups${target}`, body)

  test('reads the resource from the body and its parent from the path', () => {
    assert.deepEqual(create('/a', '{"name":"n","description":"d"}'), {
      parent: 'a',
      group: { name: 'n', description: 'd' },
    })
    assert.deepEqual(create('', '{"name":"n"}'), { group: { name: 'n' } })
  })

  test('reads fields from a JSON body as well as the query if its http rule has no body', () => {
    const sts = makeRoutes(describeMethods(SecurityTokenService).map((method) => ({ method })))
    const { input } = SecurityTokenService.method.exchange
    const exchange = (query: string, body: string) =>
      jsonOf(input, 'POST', `/sts/exchange${query}`, body, sts)
    assert.deepEqual(exchange('', '{"aud":["a","b"],"identity":"i"}'), { aud: ['a', 'b'], identity: 'i' })
    assert.deepEqual(exchange('?aud=a', '{"identity":"i"}'), { aud: ['a'], identity: 'i' })
    assert.deepEqual(exchange('?aud=a', ''), { aud: ['a'] })
    assertRejected(() => exchange('', '{"identity":'), undefined, /not well-formed JSON/)
    const unknown = (count: number, separator: string, form: (name: string) => string) =>
      Array.from({ length: count }, (_, at) => form(`other${at}`)).join(separator)
    const inBody = (count: number) => `{${unknown(count, ',', (name) => `"${name}":1`)}}`
    const inQuery = (count: number) => `?${unknown(count, '&', (name) => `${name}=1`)}`
    assert.deepEqual(exchange(inQuery(20), inBody(30)), {})
    for (const [query, body] of [
      ['', inBody(51)],
      [inQuery(51), ''],
      [inQuery(20), inBody(31)],
    ] as const)
      assertRejected(() => exchange(query, body), undefined, /at most 50 unknown parameters/)
  })

  test('reads an empty body as an empty resource', () => {
    for (const body of ['', ' \r\n', '{}']) assert.deepEqual(create('/a', body), { parent: 'a', group: {} })
  })

  test('ignores null and keys that are not fields', () => {
    assert.deepEqual(create('/a', '{"name":"n","nme":1,"description":null,"__proto__":{"name":"x"}}'), {
      parent: 'a',
      group: { name: 'n' },
    })
  })

  test('rejects query parameters for fields of the resource and for its parent', () => {
    for (const field of ['group.name', 'group.description', 'parent', 'name'])
      assertRejected(() => create(`/a?${field}=x`, '{"name":"n"}'), field, /its parameters are validate_only/)
  })

  test('does not read the parent or other fields of the request from the body', () => {
    assert.deepEqual(create('/a', '{"name":"n","parent":"b","group":{"name":"x"}}'), {
      parent: 'a',
      group: { name: 'n' },
    })
  })

  test('rejects a body that is not JSON, or JSON followed by other text', () => {
    for (const body of [
      '{',
      '{"name":"n"} x',
      '{"name":"n"}{}',
      "{'name':'n'}",
      '{"name":"n",}',
      'NaN',
      '\u0000',
      '\ufeff{',
      '[1',
    ]) {
      assertRejected(() => create('/a', body), undefined, /not well-formed JSON/)
    }
    for (const body of ['null', '[]', '"x"', '1'])
      assertRejected(() => create('/a', body), 'body', /JSON object/)
    assertRejected(() => create('/a', '{"name":1}'), 'name', /string/)
  })
})

describe('PATCH', () => {
  const update = (target: string, body: string) =>
    bind('PATCH', `/iam/v2beta1/groups${target}`, body) as UpdateGroupRequest
  const maskOf = (target: string, body: string) => update(target, body).updateMask?.paths

  test('uses the uid in the path, not the one in the body', () => {
    const { group } = update('/a/b', '{"uid":"c","name":"n"}')
    assert.equal(group?.uid, 'a/b')
    assert.equal(group.name, 'n')
  })

  test('without a mask changes the fields in the body, including empty and null ones', () => {
    assert.deepEqual(maskOf('/a', '{"name":"n"}'), ['name'])
    assert.deepEqual(maskOf('/a', '{"description":""}'), ['description'])
    assert.deepEqual(maskOf('/a', '{"description":null,"verified":false}'), ['description', 'verified'])
    assert.deepEqual(maskOf('/a', '{"resourceLimits":{"clusters":1}}'), ['resource_limits'])
    assert.deepEqual(maskOf('/a', '{}'), [])
    assert.deepEqual(maskOf('/a', ''), [])
  })

  test('with a mask uses the mask unchanged, and adds nothing from the body', () => {
    for (const name of ['updateMask', 'update_mask', 'update%4Dask', 'update%5Fmask']) {
      assert.deepEqual(maskOf(`/a?${name}=description`, '{"name":"n"}'), ['description'])
    }
    assert.deepEqual(maskOf('/a?updateMask=name,%20createTime', '{}'), ['name', ' createTime'])
    assert.deepEqual(maskOf('/a?updateMask=*', '{"name":"n"}'), ['*'])
  })

  test('treats a blank mask as no mask', () => {
    for (const mask of ['', '%20', ',', '+,+'])
      assert.deepEqual(maskOf(`/a?updateMask=${mask}`, '{"name":"n"}'), ['name'])
  })

  test('rejects a mask in a parameter with another name', () => {
    for (const name of ['updatemask', 'update_Mask', 'mask', 'update_mask.paths', 'x.update_mask']) {
      assertRejected(() => maskOf(`/a?${name}=description`, '{"name":"n"}'), name, /is not a parameter/)
    }
  })

  test('without a mask rejects a key that is not a field', () => {
    assertRejected(() => update('/a', '{"name":"n","nme":"x"}'), 'nme', /is not a field of this resource/)
    assertRejected(() => update('/a', '{"__proto__":{}}'), '__proto__')
    assertRejected(() => update('/a?updateMask=', '{"nme":"x"}'), 'nme')
  })

  test('with a mask ignores keys that are not fields', () => {
    assert.equal(update('/a?updateMask=name', '{"name":"n","nme":"x"}').group?.name, 'n')
  })

  test('rejects a value of the wrong type even if the mask omits it', () => {
    assertRejected(() => update('/a?updateMask=name', '{"name":"n","description":1}'), 'description')
  })

  test('accepts only one mask', () => {
    assertRejected(() => update('/a?updateMask=name&update_mask=name', '{}'), 'update_mask', /one value/)
  })
})

/** Routes with one endpoint whose request was declared for the test. */
function routesTo(input: DescMessage, binding: HttpBinding) {
  const method = describeMethod(GroupsService.method.updateGroup)
  const endpoint = { method: { ...method, desc: { ...method.desc, input }, bindings: [binding] } } as Endpoint
  return makeRoutes([endpoint])
}

describe('PATCH of a resource with nested messages', () => {
  const request = declareMessages({
    Request: { identity: 'Identity', update_mask: 'google.protobuf.FieldMask' },
    Identity: {
      uid: { type: 'string', behaviour: FieldBehavior.OUTPUT_ONLY },
      claim_match: { type: 'ClaimMatch', oneof: 'relationship' },
      keys: { type: 'string', oneof: 'relationship' },
      entries: { type: 'ClaimMatch', list: true },
    },
    ClaimMatch: {
      issuer: { type: 'string', oneof: 'iss' },
      issuer_pattern: { type: 'string', oneof: 'iss' },
      claims: { type: 'string', key: 'string' },
    },
  })('Request')
  const routes = routesTo(request, {
    verb: 'PATCH',
    path: '/iam/v2beta1/identities/{identity.uid=**}',
    body: 'identity',
  })
  const patch = (body: string) =>
    bind('PATCH', '/iam/v2beta1/identities/a', body, routes) as unknown as UpdateGroupRequest
  const maskOf = (body: string) => patch(body).updateMask?.paths

  test('changes the leaves that the body contains; an empty object is a leaf', () => {
    assert.deepEqual(maskOf('{"claimMatch":{"issuer":"i","claims":{"a":"b"}}}'), [
      'claim_match.issuer',
      'claim_match.claims',
    ])
    assert.deepEqual(maskOf('{"claim_match":{}}'), ['claim_match'])
    assert.deepEqual(maskOf('{"claimMatch":null}'), ['claim_match'])
    assert.deepEqual(maskOf('{"claimMatch":{"issuer":null,"issuerPattern":"p"}}'), [
      'claim_match.issuer',
      'claim_match.issuer_pattern',
    ])
    assert.deepEqual(maskOf('{"entries":[{"issuer":"i"}]}'), ['entries'])
  })

  test('uses the last value of a field that appears in both spellings', () => {
    assert.deepEqual(maskOf('{"claim_match":{"issuer":"i"},"claimMatch":{"claims":{}}}'), [
      'claim_match.claims',
    ])
  })

  test('rejects an unknown key at any depth, except in maps', () => {
    assertRejected(() => patch('{"claimMatch":{"isuer":"i"}}'), 'claim_match.isuer')
    assertRejected(() => patch('{"entries":[{},{"isuer":"i"}]}'), 'entries[1].isuer')
    assert.deepEqual(maskOf('{"claimMatch":{"claims":{"isuer":"i"}}}'), ['claim_match.claims'])
  })

  test('rejects two members of a oneof', () => {
    assertRejected(
      () => patch('{"keys":"k","claimMatch":{}}'),
      'claim_match',
      /cannot be set together with keys/,
    )
  })
})

describe('a body that is the whole request', () => {
  const request = declareMessages({
    Request: { id: 'string', identity: 'string', aud: { type: 'string', list: true } },
  })('Request')
  const routes = routesTo(request, { verb: 'PUT', path: '/iam/v1/things/{id=**}', body: '*' })
  const put = (target: string, body: string) => jsonOf(request, 'PUT', target, body, routes)

  test('ignores the query, and the path overwrites the body', () => {
    assert.deepEqual(put('/iam/v1/things/a?identity=x&aud=y', '{"id":"b","aud":["z"],"unknown":1}'), {
      id: 'a',
      aud: ['z'],
    })
    assert.deepEqual(put('/iam/v1/things/a?identity=x', ''), { id: 'a' })
  })
})

test('a route whose body field does not exist throws', () => {
  const routes = routesTo(IdentitySchema, { verb: 'POST', path: '/a/b/c', body: 'nothing' })
  assert.throws(() => bind('POST', '/a/b/c', '{}', routes), /has no message field nothing/)
})
