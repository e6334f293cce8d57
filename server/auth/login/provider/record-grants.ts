import type { KoaContextWithOIDC, Provider } from 'oidc-provider'
import type { PageEvent } from '../page-log.ts'

/** Records in the event log which tokens oidc-provider has issued and revoked, and which sessions were ended. */
export function recordGrants(provider: Provider, onEvent: (event: PageEvent) => void): void {
  provider.on('grant.success', (ctx) => {
    const { params, client } = ctx.oidc
    const grant = String(params?.grant_type).replace(/^urn:ietf:params:oauth:grant-type:/, '')
    const action = grant === 'refresh_token' ? 'refreshed' : 'issued'
    const details = { grant, client: client?.clientId ?? '' }
    emit({ method: 'oauth/token', action, details }, personOf(ctx))
  })
  provider.on('grant.revoked', (ctx) => {
    // Ending a session revokes grants, too. That is recorded below, as one event.
    if (ctx.oidc.route === 'revocation')
      emit({ method: 'oauth/revoke', action: 'signed-out', details: { by: 'revocation' } }, personOf(ctx))
  })
  provider.on('end_session.success', (ctx) => {
    const { params, session } = ctx.oidc
    if (params?.logout)
      emit({ method: 'sign-out', action: 'signed-out', details: { by: 'browser' } }, session)
  })

  function emit(event: Omit<PageEvent, 'identity' | 'provider'>, person: GrantedPerson | undefined): void {
    if (person?.accountId) onEvent({ ...event, identity: person.accountId, provider: person.acr })
  }
}

/** `acr` is the identity provider of the sign-in (sign-in/finish.ts). */
type GrantedPerson = { accountId?: string | undefined; acr?: string | undefined }

function personOf({ oidc: { entities } }: KoaContextWithOIDC): GrantedPerson | undefined {
  const { AuthorizationCode, DeviceCode, RefreshToken } = entities
  return AuthorizationCode ?? DeviceCode ?? RefreshToken
}
