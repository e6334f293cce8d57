import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { parseCommandLine } from '../command-line.ts'
import { UsageError } from '../failure.ts'
import { commandOf } from './commands.ts'
import { parseDocument } from './document.ts'
import { parseFlagValue } from './flag-values.ts'
import { buildRequest, requireEncodable } from './request.ts'

function request(resource: string, verb: string, args: string[], content?: JsonObject): JsonObject {
  const command = commandOf(resource, verb)
  const { fields } = parseCommandLine(command, args)
  const values = fields.map(({ flag, texts }) => ({
    path: flag.path,
    value: parseFlagValue(flag.field, texts, 0),
  }))
  const built = buildRequest(command, values, content && { content, source: 'x.yaml' })
  requireEncodable(command, built)
  return built
}

describe('a request', () => {
  test('contains the fields that flags set, at any depth', () => {
    assert.deepEqual(request('identities', 'create', ['--name', 'ci', '--claim-match.issuer=https://a']), {
      identity: { name: 'ci', claimMatch: { issuer: 'https://a' } },
    })
    assert.deepEqual(request('groups', 'list', ['--in-root', '--page-size', '3']), {
      uidp: { inRoot: true },
      pageSize: 3,
    })
  })

  test('accepts a document with field names in JSON or proto spelling; flags take precedence over it', () => {
    const content = { name: 'sso', default_role: 'a', oidc: { issuer: 'https://a', client_id: 'b' } }
    assert.deepEqual(request('identity-providers', 'create', ['--oidc.client-id', 'c'], content), {
      identityProvider: { name: 'sso', defaultRole: 'a', oidc: { issuer: 'https://a', clientId: 'c' } },
    })
  })

  test('omits output-only fields, so that the output of get can be sent back', () => {
    const content = { uid: 'u', name: 'a', createTime: '2026-01-01T00:00:00Z', verified: false }
    assert.deepEqual(request('groups', 'create', [], content), { group: { name: 'a', verified: false } })
  })

  test('has a mask of the fields that were given', () => {
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

  test('is rejected with the name of an unknown field, or of a field whose value cannot be encoded', () => {
    assert.throws(
      () => request('groups', 'create', [], { nam: 'a' }),
      /x\.yaml has an unknown field "nam"; known fields: name, /,
    )
    assert.throws(() => request('groups', 'create', [], { name: ['a'] }), /^Error: name: expected string/)
    for (const oidc of ['x', ['x']])
      assert.throws(
        () => request('identity-providers', 'create', ['--oidc.client-id', 'c'], { oidc }),
        new UsageError('oidc must be an object, because a flag sets a field in it'),
      )
    const both = ['--claim-match.issuer', 'a', '--static-keys.issuer', 'b']
    assert.throws(
      () => request('identities', 'create', both),
      /claimMatch and staticKeys cannot be set together/,
    )
  })
})

describe('a command line', () => {
  const command = commandOf('groups', 'create')
  test('is rejected if a flag is unknown, with a similar flag as suggestion, or if a flag has no value', () => {
    assert.throws(
      () => parseCommandLine(command, ['--nme', 'a']),
      /has no flag --nme \(did you mean --name\?\)/,
    )
    assert.throws(
      () => parseCommandLine(commandOf('identities', 'create'), ['--issuer-pattern', 'a']),
      /--claim-match\.issuer-pattern/,
    )
    assert.throws(() => parseCommandLine(command, ['--name']), UsageError)
  })
  test('accepts a uid flag with and without -uid', () => {
    for (const flag of ['--role', '--role-uid'])
      assert.deepEqual(
        parseCommandLine(commandOf('role-bindings', 'create'), [flag, 'viewer']).fields.map(
          ({ flag: { name }, texts }) => [name, texts],
        ),
        [['role', ['viewer']]],
      )
    assert.throws(
      () =>
        parseCommandLine(commandOf('role-bindings', 'create'), ['--role', 'viewer', '--role-uid', 'editor']),
      new UsageError('--role and --role-uid are the same flag; use only one'),
    )
  })
})

describe('a document', () => {
  test('is JSON or YAML', async () => {
    assert.deepEqual(await parseDocument('{"name": "a"}', 'x'), { name: 'a' })
    assert.deepEqual(await parseDocument('name: a\noidc:\n  issuer: b\n', 'x'), {
      name: 'a',
      oidc: { issuer: 'b' },
    })
  })
  test('is rejected if it is not an object in JSON or YAML', async () => {
    for (const wrong of ['', '[]', '- a', 'just words', '{', 'a: [', 'a: 1\na: 2'])
      await assert.rejects(parseDocument(wrong, 'x'), UsageError, wrong)
  })
  test('is rejected if its aliases would expand exponentially', async () => {
    const levels = Array.from({ length: 30 }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at},*a${at}]`).join(
      '\n',
    )
    await assert.rejects(parseDocument(`a0: &a0 [x]\n${levels}`, 'x'), UsageError)
  })
})
