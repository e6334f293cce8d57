// Fails for a writing method of the contract that has no event type, neither of its own nor of its
// resource.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { services } from '@stemma/api/gen/services.ts'
import type { Method } from '@stemma/api/method.ts'
import { describeMethods } from '@stemma/api/method.ts'
import { eventTypeOf } from '../../server/cloud-events/event-catalog.ts'
import { readEventCatalog } from '../../server/outgoing-events.ts'

/** Writing methods that need no event type, and why. */
const exceptions: Record<string, string> = {
  'platform.auth.Auth.Delete': 'deletes an identity of a person, who belongs to no organization',
  'platform.events.v2beta1.DeliveriesService.RedeliverEvent': 'sends an event that exists',
  'platform.events.v2beta1.SubscriptionsService.ReplaySubscription': 'sends events that exist',
  'platform.events.v2beta1.SubscriptionsService.RotateSubscriptionSecret': 'updates a subscription',
  'platform.events.v2beta1.SubscriptionsService.TestSubscription': 'sends its event to one subscription only',
  'platform.iam.Groups.RequestGroupAccess': 'creates a group access request or a role binding',
  'platform.iam.v2beta1.GroupsService.RequestGroupAccess': 'creates a group access request or a role binding',
  'platform.iam.RoleBindings.CreateBatch': 'creates role bindings',
  'platform.iam.v2beta1.RoleBindingsService.BatchCreateRoleBindings': 'creates role bindings',
  'platform.iam.ExternalGroupRoleMappings.BatchDelete': 'deletes external group role mappings',
  'platform.iam.v2beta1.ExternalGroupRoleMappingsService.BatchDeleteExternalGroupRoleMappings':
    'deletes external group role mappings',
  'platform.registry.v2beta1.PullTokensService.CreatePullToken': 'creates an identity and a role binding',
  'platform.registry.v2beta1.PullTokensService.DeletePullToken': 'deletes an identity and a role binding',
  'platform.registry.v2beta1.ReposService.UpdateRepoReadme': 'updates a repo',
  'platform.server.v2beta1.OrganizationsService.SetOrganizationLimits': 'updates a group',
  'platform.server.v2beta1.PeopleService.RemovePerson': 'deletes an identity and its role bindings',
  'platform.vulnerabilities.v1.Advisories.CreateAdvisoryEvent': 'updates an advisory',
  'platform.vulnerabilities.v1.Advisories.UpdateAdvisoryEvent': 'updates an advisory',
}

const kinds = [...readEventCatalog().kinds.values()]

/** Whether the method returns a resource that has event types, or deletes one. */
const isOfKind = ({ desc }: Method) =>
  kinds.some(({ v1, v2 }) =>
    [v1, v2].some((form) => form && (form.desc === desc.output || form.deletion === desc.input)),
  )

const hasEventType = (method: Method) => isOfKind(method) || eventTypeOf(method.desc) !== undefined

describe('the types of events', () => {
  const writing = services.flatMap(describeMethods).filter(({ isRead, isInternal }) => !isRead && !isInternal)

  test('exist for every method that writes, with few exceptions', () => {
    const silent = writing.filter((method) => !hasEventType(method) && !(method.name in exceptions))
    assert.deepEqual(
      silent.map(({ name }) => name),
      [],
      'set the option event_type of the method or of its resource',
    )
  })

  test('do not exist for the exceptions', () => {
    const known = new Map(writing.map((method) => [method.name, method]))
    for (const name of Object.keys(exceptions)) {
      const method = known.get(name)
      assert.ok(method, `${name} is no writing method`)
      assert.ok(!hasEventType(method), name)
    }
  })

  test('differ for every resource', () => {
    const types = kinds.map(({ eventType }) => eventType)
    assert.equal(new Set(types).size, types.length)
    for (const type of types) assert.match(type, /^api(?:\.[a-z_]+){2,3}$/)
  })
})
