import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { splitSummary } from './comments.ts'
import { curlOf } from './curl.ts'
import type { Operation } from './operations.ts'
import { describeServices } from './operations.ts'

const services = describeServices()
const all = services.flatMap(({ operations }) => operations)

function named(id: string): Operation {
  const found = all.find((operation) => operation.id === id)
  assert.ok(found, id)
  return found
}

describe('an operation', () => {
  test('has a name of its own', () => {
    assert.equal(new Set(all.map(({ id }) => id)).size, all.length)
    assert.equal(new Set(all.map(({ verb, path }) => `${verb} ${path}`)).size, all.length)
  })

  test('takes what the path leaves in the query, dotted where it lies deeper', () => {
    const names = named('iam.v2beta1.GroupsService.ListGroups').query.map(({ name }) => name)
    assert.deepEqual(names.slice(0, 3), ['uidp.ancestorsOf', 'uidp.descendantsOf', 'uidp.childrenOf'])
    assert.ok(names.includes('pageSize'))
    const ofUpdate = named('iam.v2beta1.GroupsService.UpdateGroup')
    assert.deepEqual(
      [ofUpdate.query.map(({ name }) => name), ofUpdate.body?.isPartial],
      [['updateMask'], true],
    )
  })

  test('is two where its place may be left out', () => {
    assert.equal(named('iam.v2beta1.GroupsService.CreateGroup').path, '/iam/v2beta1/groups/{parent}')
    const atRoot = named('iam.v2beta1.GroupsService.CreateGroup.root')
    assert.deepEqual([atRoot.path, atRoot.variables, atRoot.capabilities], ['/iam/v2beta1/groups', [], []])
  })

  test('is one for each path, and takes a form where it has no JSON body', () => {
    const { verb, body } = named('oidc.SecurityTokenService.Exchange')
    assert.deepEqual([verb, body?.type], ['POST', 'application/x-www-form-urlencoded'])
    const other = named('oidc.SecurityTokenService.Exchange.get')
    assert.ok(other.query.some(({ name }) => name === 'identity'))
  })

  test('says who may call, by names and in words', () => {
    const { capabilities, access } = named('iam.v2beta1.GroupInvitesService.CreateGroupInvite')
    assert.deepEqual(capabilities, ['group_invites.create', 'role_bindings.create'])
    assert.equal(access, 'Needs `group_invites.create` and `role_bindings.create` in that place or above it.')
    assert.equal(named('ping.v2beta1.PingService.Ping').access, 'Open: takes no token.')
    assert.match(
      named('oidc.SecurityTokenService.ExchangeRefreshToken').access,
      /the bearer is a refresh token/,
    )
  })

  test('has no pages where it is a stream', () => {
    const { query } = named('vulnerabilities.v2beta1.AdvisoriesService.ExportAdvisoriesOsv')
    assert.ok(query.length > 10)
    assert.ok(!query.some(({ name }) => /^page|^skip/.test(name)))
  })

  test('can be tried in a shell', () => {
    assert.equal(
      curlOf(named('iam.v2beta1.GroupsService.UpdateGroup')),
      [
        'curl -X PATCH "http://localhost:8080/iam/v2beta1/groups/$RESOURCE"',
        '  -H "Authorization: Bearer $TOKEN"',
        "  -H 'Content-Type: application/json'",
        '  -d \'{"description":"shared services"}\'',
      ].join(' \\\n'),
    )
  })
})

test('services come with v2 first, and the tree before what hangs on it', () => {
  const versions = services.map(({ version }) => version)
  assert.equal(versions.lastIndexOf('v2beta1') < versions.indexOf('v1'), true)
  assert.match(services[0]?.slug ?? '', /^iam-v2beta1-/)
})

test('a summary is the first sentence', () => {
  assert.deepEqual(splitSummary('Reads one. It is quick.\n\nAlways.'), {
    summary: 'Reads one.',
    rest: 'It is quick.\n\nAlways.',
  })
  assert.deepEqual(splitSummary('Takes e.g. names, v1.2 too'), {
    summary: 'Takes e.g. names, v1.2 too',
    rest: '',
  })
})
