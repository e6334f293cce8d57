// Identity providers, through which the people of an organization sign in. The client secret is stored
// encrypted, in a column of its own.
import type {
  CreateIdentityProviderRequest,
  IdentityProvider,
  ListIdentityProvidersRequest,
  UpdateIdentityProviderRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import {
  IdentityProvider_OIDC_CorrelationRule as CorrelationRule,
  IdentityProvider_OIDC_CorrelationRuleSchema as CorrelationRuleSchema,
  IdentityProvidersService,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import { parentOf } from '../../../aip/uid.ts'
import { issuerFault } from '../../../claims/issuer.ts'
import type { Grants } from '../../../policy/grants.ts'
import type { Call } from '../../../rpc/call.ts'
import { separatePeople } from '../../../store/provider-people.ts'
import { raw } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { createResource } from '../../create.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { equalTo, listResources } from '../../list.ts'
import {
  requireFreshSignInForMappedRoles,
  requireFreshSignInForOwnership,
  requireFreshSignInForRole,
} from '../../ownership.ts'
import { defineResource } from '../../resource.ts'
import { readResource } from '../../stored-resource.ts'
import { isNamed, updateResource } from '../../update.ts'
import { requireAllMappedRoles, requireDelegable, requireOwner } from '../delegation.ts'
import { groups } from '../groups/table.ts'
import { removeDependents } from './remove-dependents.ts'
import { scimMethods } from './scim-methods.ts'
import { identityProviders } from './table.ts'

function identityProvidersMethods(deps: Dependencies) {
  const { settings } = deps
  const seal = (secret: string) => (secret === '' ? '' : settings.sealSecret(secret))

  return {
    ...scimMethods(deps),

    listIdentityProviders: (call: Call<ListIdentityProvidersRequest>) =>
      listResources(deps, identityProviders, call, {
        filters: equalTo(raw('name'), call.request.name),
      }),

    createIdentityProvider: (call: Call<CreateIdentityProviderRequest>) =>
      createResource(deps, identityProviders, call, {
        *beforeCreate(draft, { grants }) {
          const oidc = oidcOf(draft)
          const secret = oidc?.clientSecret ?? ''
          yield* requireUsable(deps, draft, { grants, group: call.demand.scope, hasSecret: secret !== '' })
          if (oidc?.correlationRule === CorrelationRule.UNSPECIFIED)
            oidc.correlationRule = CorrelationRule.SUB_EQUALS_EXTERNAL_ID
          return { client_secret: seal(secret) }
        },
      }),

    updateIdentityProvider: (call: Call<UpdateIdentityProviderRequest>) =>
      updateResource(deps, identityProviders, call, {
        *beforeUpdate({ columns: { client_secret: stored }, current, merged, mask, grants }) {
          const sent = oidcOf(merged)?.clientSecret ?? ''
          // Replies never contain the secret, so an update without a secret keeps the stored one, unless the mask names
          // the field.
          const isKept = sent === '' && !isNamed(mask, 'oidc.client_secret')
          const secret = isKept ? stored : seal(sent)
          const group = parentOf(call.demand.scope)
          yield* requireUsable(deps, merged, { grants, group, hasSecret: secret !== '' })
          yield* requireAllMappedRoles(grants, call.demand.scope)
          yield* requireFreshSignInForRole(deps, grants.caller, current.defaultRole)
          yield* requireFreshSignInForMappedRoles(deps, grants.caller, call.demand.scope)
          if (hasNewIssuer(current, merged) && isKept && stored !== '')
            throw invalidField('oidc.client_secret', 'must be sent again if the issuer changes')
          return { client_secret: secret }
        },
        *removeBatch({ current, merged }) {
          if (!hasNewIssuer(current, merged)) return false
          const now = deps.now()
          return yield* separatePeople(call.demand.scope, {
            now: Math.floor(now / 1000),
            end: Math.ceil(Math.max(now, call.deadline) / 1000),
          })
        },
      }),

    deleteIdentityProvider: (call: Call) =>
      deleteResource(deps, identityProviders, call, {
        *removeBatch(uid, access) {
          yield* requireFreshSignInForMappedRoles(deps, call.demand.caller, uid)
          return yield* removeDependents(access, uid, deps.now())
        },
      }),
  }
}

export const identityProvidersResource = defineResource({
  kind: identityProviders,
  service: IdentityProvidersService,
  methods: identityProvidersMethods,
})

type CheckContext = { grants: Grants; group: string; hasSecret: boolean }

/**
 * Requires a configuration with which people can sign in, and a default role that the caller may delegate. The provider
 * of a verified organization confirms e-mail addresses of its domain. A caller who configures it can sign in as any
 * person of the domain, and must therefore hold everything that an owner holds, and have signed in recently.
 */
function* requireUsable(
  deps: Dependencies,
  provider: IdentityProvider,
  { grants, group, hasSecret }: CheckContext,
): Work<void> {
  yield* requireDelegable(grants, group, provider.defaultRole, 'default_role')
  yield* requireFreshSignInForRole(deps, grants.caller, provider.defaultRole)
  const organization = parentOf(group) === '' ? yield* readResource(groups, group) : undefined
  if (organization?.verified) {
    yield* requireOwner(grants, group)
    yield* requireFreshSignInForOwnership(deps, grants.caller)
  }
  const oidc = oidcOf(provider)
  if (!oidc) throw invalidField('oidc', 'is required')
  const fault = issuerFault(oidc.issuer, deps.settings.issuerRule)
  if (fault) throw invalidField('oidc.issuer', fault)
  if (!hasSecret && !oidc.pkceEnabled)
    throw invalidField('oidc.client_secret', 'is required unless pkce_enabled is true', ['pkce_enabled'])
  if (!CorrelationRuleSchema.value[oidc.correlationRule])
    throw invalidField('oidc.correlation_rule', 'must be one of the correlation rules')
  const badScope = oidc.additionalScopes.find((scope) => !/^[!#-[\]-~]+$/.test(scope))
  if (badScope !== undefined)
    throw invalidField(
      'oidc.additional_scopes',
      'must be scopes as RFC 6749 defines them: visible ASCII characters except " and \\',
    )
}

const hasNewIssuer = (before: IdentityProvider, after: IdentityProvider) =>
  oidcOf(before)?.issuer !== oidcOf(after)?.issuer

const oidcOf = ({ configuration }: IdentityProvider) =>
  configuration.case === 'oidc' ? configuration.value : undefined
