import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { splitSummary } from './comments.ts'
import { curlOf } from './curl.ts'
import type { Operation } from './operations.ts'
import { describeServices } from './operations.ts'

const services = describeServices()
const all = services.flatMap(({ operations }) => operations)

function operationOf(id: string): Operation {
  const operation = all.find((candidate) => candidate.id === id)
  assert.ok(operation, id)
  return operation
}

describe('an operation', () => {
  test('has a unique id, and a unique combination of verb and path', () => {
    assert.equal(new Set(all.map(({ id }) => id)).size, all.length)
    assert.equal(new Set(all.map(({ verb, path }) => `${verb} ${path}`)).size, all.length)
  })

  test('has query parameters for the fields that are in neither path nor body, with dotted names for inner fields', () => {
    const names = operationOf('iam.v2beta1.GroupsService.ListGroups').query.map(({ name }) => name)
    assert.deepEqual(names.slice(0, 3), ['uidp.ancestorsOf', 'uidp.descendantsOf', 'uidp.childrenOf'])
    assert.ok(names.includes('pageSize'))
    const update = operationOf('iam.v2beta1.GroupsService.UpdateGroup')
    assert.deepEqual(
      [update.query.map(({ name }) => name), update.body?.isPartial],
      [['updateMask', 'validateOnly'], true],
    )
  })

  test('has no query parameter for a list of messages, which a query cannot contain', () => {
    const { query } = operationOf('registry.Registry.ListManifestMetadata')
    assert.deepEqual(
      query.map(({ name }) => name),
      ['digests'],
    )
  })

  test('exists with and without a parent if the parent is optional', () => {
    assert.equal(operationOf('iam.v2beta1.GroupsService.CreateGroup').path, '/iam/v2beta1/groups/{parent}')
    const atRoot = operationOf('iam.v2beta1.GroupsService.CreateGroup.root')
    assert.deepEqual([atRoot.path, atRoot.variables, atRoot.capabilities], ['/iam/v2beta1/groups', [], []])
  })

  test('exists once for each http binding; a POST without a JSON body has a form as its body', () => {
    const { verb, body } = operationOf('oidc.SecurityTokenService.Exchange')
    assert.deepEqual([verb, body?.type], ['POST', 'application/x-www-form-urlencoded'])
    const getOperation = operationOf('oidc.SecurityTokenService.Exchange.get')
    assert.ok(getOperation.query.some(({ name }) => name === 'identity'))
  })

  test('states the required capabilities as a list and as a sentence', () => {
    const { capabilities, access } = operationOf('iam.v2beta1.GroupInvitesService.CreateGroupInvite')
    assert.deepEqual(capabilities, ['group_invites.create', 'role_bindings.create'])
    assert.equal(access, 'Needs `group_invites.create` and `role_bindings.create` in the group or above it.')
    assert.equal(operationOf('ping.v2beta1.PingService.Ping').access, 'Open: needs no token.')
    assert.match(
      operationOf('oidc.SecurityTokenService.ExchangeRefreshToken').access,
      /The bearer token is a refresh token/,
    )
  })

  test('has no page parameters if it is a stream', () => {
    const { query } = operationOf('vulnerabilities.v2beta1.AdvisoriesService.ExportAdvisoriesOsv')
    assert.ok(query.length > 10)
    assert.ok(!query.some(({ name }) => /^page|^skip/.test(name)))
  })

  test('has a curl command', () => {
    assert.match(
      curlOf(operationOf('events.v2beta1.DeliveriesService.RedeliverEvent')),
      /\/events\/v2beta1\/deliveries\/\$\{RESOURCE\}:redeliver"/,
    )
    assert.equal(
      curlOf(operationOf('iam.v2beta1.GroupsService.UpdateGroup')),
      [
        'curl -X PATCH "http://localhost:8080/iam/v2beta1/groups/$RESOURCE"',
        '  -H "Authorization: Bearer $TOKEN"',
        "  -H 'Content-Type: application/json'",
        '  -d \'{"description":"shared services"}\'',
      ].join(' \\\n'),
    )
  })
})

test('services are sorted by version and domain', () => {
  const versions = services.map(({ version }) => version)
  assert.equal(versions.lastIndexOf('v2beta1') < versions.indexOf('v1'), true)
  assert.match(services[0]?.slug ?? '', /^iam-v2beta1-/)
})

test('a summary is the first sentence', () => {
  assert.deepEqual(splitSummary('Reads one. It is quick.\n\nAlways.'), {
    summary: 'Reads one.',
    details: 'It is quick.\n\nAlways.',
  })
  assert.deepEqual(splitSummary('Takes e.g. names, v1.2 too'), {
    summary: 'Takes e.g. names, v1.2 too',
    details: '',
  })
})
