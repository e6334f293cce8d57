import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { readLine } from '../arguments.ts'
import { UsageError } from '../usage.ts'
import { commandOf } from './commands.ts'
import { readDocument } from './document.ts'
import { requestOf, requireSendable } from './request.ts'
import { jsonOf } from './values.ts'

function request(resource: string, verb: string, args: string[], content?: JsonObject): JsonObject {
  const command = commandOf(resource, verb)
  const { fields } = readLine(command, args)
  const given = fields.map(({ flag, texts }) => ({ path: flag.path, value: jsonOf(flag.field, texts, 0) }))
  const made = requestOf(command, given, content && { content, from: 'x.yaml' })
  requireSendable(command, made)
  return made
}

describe('a request', () => {
  test('takes flags to their fields, however deep', () => {
    assert.deepEqual(request('identities', 'create', ['--name', 'ci', '--claim-match.issuer=https://a']), {
      identity: { name: 'ci', claimMatch: { issuer: 'https://a' } },
    })
    assert.deepEqual(request('groups', 'list', ['--in-root', '--page-size', '3']), {
      uidp: { inRoot: true },
      pageSize: 3,
    })
  })

  test('takes a document in either spelling, and flags over it', () => {
    const content = { name: 'sso', default_role: 'a', oidc: { issuer: 'https://a', client_id: 'b' } }
    assert.deepEqual(request('identity-providers', 'create', ['--oidc.client-id', 'c'], content), {
      identityProvider: { name: 'sso', defaultRole: 'a', oidc: { issuer: 'https://a', clientId: 'c' } },
    })
  })

  test('leaves out what only the server says, so that what was read can be given back', () => {
    const content = { uid: 'u', name: 'a', createTime: '2026-01-01T00:00:00Z', verified: false }
    assert.deepEqual(request('groups', 'create', [], content), { group: { name: 'a', verified: false } })
  })

  test('has a mask of exactly what was given', () => {
    const content = { name: 'sso', oidc: { issuer: 'https://a', additionalScopes: ['x', 'y'] } }
    const { updateMask } = request('identity-providers', 'update', ['--oidc.client-secret', 's'], content)
    assert.equal(updateMask, 'name,oidc.issuer,oidc.clientSecret,oidc.additionalScopes')
    assert.equal(request('groups', 'update', ['--description', '']).updateMask, 'description')
    assert.equal(
      request('groups', 'update', ['--name', 'a', '--update-mask', 'description']).updateMask,
      'description',
    )
    assert.throws(() => request('groups', 'update', []), /nothing to change/)
  })

  test('says which field there is not, and what cannot be sent', () => {
    assert.throws(
      () => request('groups', 'create', [], { nam: 'a' }),
      /x\.yaml: there is no field "nam"; there is name, /,
    )
    assert.throws(() => request('groups', 'create', [], { name: ['a'] }), /^Error: name: expected string/)
    const both = ['--claim-match.issuer', 'a', '--static-keys.issuer', 'b']
    assert.throws(() => request('identities', 'create', both), /claimMatch and staticKeys exclude each other/)
  })
})

describe('a command line', () => {
  const command = commandOf('groups', 'create')
  test('says what was meant by a flag that there is not', () => {
    assert.throws(() => readLine(command, ['--nme', 'a']), /has no flag --nme \(did you mean --name\?\)/)
    assert.throws(
      () => readLine(commandOf('identities', 'create'), ['--issuer-pattern', 'a']),
      /--claim-match\.issuer-pattern/,
    )
    assert.throws(() => readLine(command, ['--name']), UsageError)
  })
  test('takes a uid by its short flag and by its long one', () => {
    for (const flag of ['--role', '--role-uid'])
      assert.deepEqual(
        readLine(commandOf('role-bindings', 'create'), [flag, 'viewer']).fields.map(
          ({ flag: { name }, texts }) => [name, texts],
        ),
        [['role', ['viewer']]],
      )
  })
})

describe('a document', () => {
  test('is JSON or YAML', () => {
    assert.deepEqual(readDocument('{"name": "a"}', 'x'), { name: 'a' })
    assert.deepEqual(readDocument('name: a\noidc:\n  issuer: b\n', 'x'), { name: 'a', oidc: { issuer: 'b' } })
  })
  test('is said to be neither where it is not', () => {
    for (const wrong of ['', '[]', '- a', 'just words', '{', 'a: [', 'a: 1\na: 2'])
      assert.throws(() => readDocument(wrong, 'x'), UsageError, wrong)
  })
  test('that grows out of itself is refused', () => {
    const levels = Array.from({ length: 30 }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at},*a${at}]`).join(
      '\n',
    )
    assert.throws(() => readDocument(`a0: &a0 [x]\n${levels}`, 'x'), UsageError)
  })
})
