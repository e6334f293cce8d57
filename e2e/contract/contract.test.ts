// Fails for a method of the contract that lacks options, a handler or a row of the access matrix.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ScalarType } from '@bufbuild/protobuf'
import { services } from '@stemma/api/gen/services.ts'
import type { Method } from '@stemma/api/method.ts'
import { describeMethods, isRequired } from '@stemma/api/method.ts'
import { nameOf } from '../../server/policy/capabilities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { matrix } from '../iam/access-matrix.ts'
import type { StandardMethod } from '../iam/standard-rows.ts'
import { standardMethod } from '../iam/standard-rows.ts'

const methods = services.flatMap(describeMethods)

describe('every method of the contract', () => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform('sqlite')
  })
  after(() => platform.stop())

  for (const method of methods) {
    test(method.name, () => {
      requireRoute(method)
      requireAccess(method)
      const standard = standardMethod(method)
      if (standard) requireUsualCapability(method, standard)
      assert.ok(
        platform.app.endpoints.some((endpoint) => endpoint.method.name === method.name && endpoint.handler),
        'is not served',
      )
      assert.ok(Object.hasOwn(matrix, method.name), 'has no row in the access matrix')
    })
  }

  test('the access matrix has no row for a method outside the contract', () => {
    const names = new Set(methods.map(({ name }) => name))
    assert.deepEqual(
      Object.keys(matrix).filter((name) => !names.has(name)),
      [],
    )
  })
})

function requireRoute({ bindings }: Method): void {
  assert.ok(bindings.length > 0, 'has no http rule')
  for (const { verb, path } of bindings)
    assert.match(`${verb} ${path}`, /^[A-Z]+ \/(?:[a-z]+\/v[0-9a-z]+|sts)\//)
}

function requireAccess({ access, scope }: Method): void {
  assert.ok(access, 'has no access option')
  if (access.scopeOptional || access.open || access.operators) return
  assert.ok(access.capabilities.length > 0, 'needs no capability')
  const field = scope.at(-1)
  assert.equal(field?.fieldKind, 'scalar', 'has no scope field')
  assert.equal(field.scalar, ScalarType.STRING, 'has a scope field that is not a string')
  assert.ok(scope[0] && isRequired(scope[0]), 'has a scope field that may be absent')
}

const capabilityVerbs = { Get: 'list', List: 'list', Create: 'create', Update: 'update', Delete: 'delete' }

/** The access matrix derives the expected codes of a standard method from its capabilities, so these must be right. */
function requireUsualCapability({ name, access }: Method, { verb, resource }: StandardMethod): void {
  const [first = 0, ...others] = (access?.capabilities ?? []).map(nameOf)
  const words = resource.replaceAll(/(?<=[a-z])[A-Z]/g, '_$&').toLowerCase()
  const usual = [words, `${words.replace(/y$/, 'ie')}s`].map((word) => `${word}.${capabilityVerbs[verb]}`)
  assert.ok(
    [...usual, unusualCapabilities[name]].includes(String(first)),
    `needs ${first} instead of ${usual.join(' or ')}`,
  )
  // Calls that grant or revoke a role need these as well.
  assert.deepEqual(
    others.filter((other) => !['role_bindings.create', 'role_bindings.delete'].includes(other)),
    [],
  )
}

/**
 * There is no capability to update an invite. Some resources need the capabilities of another one:
 * requests for access those of invites, external group role mappings those of identity providers,
 * pull tokens those of identities, and deliveries those of subscriptions.
 */
const unusualCapabilities: Record<string, string> = {
  'platform.audit.v2beta1.AuditEntriesService.GetAuditEntry': 'audit.entries.list',
  'platform.audit.v2beta1.AuditEntriesService.ListAuditEntries': 'audit.entries.list',
  'platform.events.v2beta1.DeliveriesService.GetDelivery': 'subscriptions.list',
  'platform.events.v2beta1.DeliveriesService.ListDeliveries': 'subscriptions.list',
  'platform.iam.v2beta1.GroupInvitesService.UpdateGroupInvite': 'group_invites.create',
  'platform.iam.v2beta1.GroupAccessRequestsService.GetGroupAccessRequest': 'group_invites.list',
  'platform.iam.v2beta1.GroupAccessRequestsService.ListGroupAccessRequests': 'group_invites.list',
  'platform.iam.v2beta1.GroupAccessRequestsService.DeleteGroupAccessRequest': 'group_invites.delete',
  ...Object.fromEntries(
    Object.entries(capabilityVerbs).map(([verb, capability]) => [
      `platform.registry.v2beta1.PullTokensService.${verb}PullToken${verb === 'List' ? 's' : ''}`,
      `identity.${capability}`,
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(capabilityVerbs).flatMap(([verb, capability]) =>
      [
        `platform.iam.v2beta1.ExternalGroupRoleMappingsService.${verb}ExternalGroupRoleMapping${verb === 'List' ? 's' : ''}`,
        `platform.iam.ExternalGroupRoleMappings.${verb}`,
      ].map((name) => [name, `identity_providers.${capability}`]),
    ),
  ),
}
