// Identity providers: how the people of an organization sign in. The client secret is kept sealed and apart.
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
import { raw } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { createResource } from '../../create.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { equalTo, listResources } from '../../list.ts'
import { defineResource } from '../../resource.ts'
import { isNamed, updateResource } from '../../update.ts'
import { requireDelegable } from '../delegation.ts'
import { identityProviders } from './table.ts'

function identityProvidersMethods(deps: Dependencies) {
  const { store, settings } = deps
  const sealed = (secret: string) => (secret === '' ? '' : settings.sealSecret(secret))

  function* requireUsable(
    grants: Grants,
    group: string,
    provider: IdentityProvider,
    hasSecret: boolean,
  ): Work<void> {
    yield* requireDelegable(grants, group, provider.defaultRole, 'default_role')
    const oidc = oidcOf(provider)
    if (!oidc) throw invalidField('oidc', 'is required')
    const fault = issuerFault(oidc.issuer, settings.issuerRule)
    if (fault) throw invalidField('oidc.issuer', fault)
    if (!hasSecret && !oidc.pkceEnabled)
      throw invalidField('oidc.client_secret', 'is required unless pkce_enabled is true')
    if (!CorrelationRuleSchema.value[oidc.correlationRule])
      throw invalidField('oidc.correlation_rule', 'must be one of the correlation rules')
    const badScope = oidc.additionalScopes.find((scope) => !/^[!#-[\]-~]+$/.test(scope))
    if (badScope !== undefined)
      throw invalidField(
        'oidc.additional_scopes',
        'must be scopes as RFC 6749 writes them: visible ASCII, no spaces',
      )
  }

  return {
    getIdentityProvider: (call: Call) => getResource(store, identityProviders, call),

    listIdentityProviders: (call: Call<ListIdentityProvidersRequest>) =>
      listResources(deps, identityProviders, call, {
        filters: equalTo(raw('name'), call.request.name),
      }),

    createIdentityProvider: (call: Call<CreateIdentityProviderRequest>) =>
      createResource(deps, identityProviders, call, {
        *beforeCreate(draft, { grants }) {
          const oidc = oidcOf(draft)
          const secret = oidc?.clientSecret ?? ''
          yield* requireUsable(grants, call.demand.scope, draft, secret !== '')
          if (oidc?.correlationRule === CorrelationRule.UNSPECIFIED)
            oidc.correlationRule = CorrelationRule.SUB_EQUALS_EXTERNAL_ID
          return { client_secret: sealed(secret) }
        },
      }),

    updateIdentityProvider: (call: Call<UpdateIdentityProviderRequest>) =>
      updateResource(deps, identityProviders, call, {
        *beforeUpdate({ columns: { client_secret: stored }, current, merged, mask, grants }) {
          const sent = oidcOf(merged)?.clientSecret ?? ''
          // Nobody can send back a secret that is never shown, so only naming it clears it.
          const isKept = sent === '' && !isNamed(mask, 'oidc.client_secret')
          const secret = isKept ? stored : sealed(sent)
          yield* requireUsable(grants, parentOf(call.demand.scope), merged, secret !== '')
          if (isKept && stored !== '' && oidcOf(current)?.issuer !== oidcOf(merged)?.issuer)
            throw invalidField('oidc.client_secret', 'must be given again for another issuer')
          return { client_secret: secret }
        },
      }),

    deleteIdentityProvider: (call: Call) => deleteResource(deps, identityProviders, call),
  }
}

export const identityProvidersResource = defineResource({
  kind: identityProviders,
  service: IdentityProvidersService,
  methods: identityProvidersMethods,
})

const oidcOf = ({ configuration }: IdentityProvider) =>
  configuration.case === 'oidc' ? configuration.value : undefined
