// Sign-in with a browser that is on another machine (RFC 8628).
import * as oidc from 'openid-client'
import type { SignedIn, Wishes } from './provider.ts'
import { atProvider, expired, scope, signedIn } from './provider.ts'

/** `complete` is the address with the code in it. */
export type Invitation = { address: string; code: string; complete: string | undefined }

export function signInByDevice(
  issuer: string,
  wishes: Wishes,
  show: (invitation: Invitation) => void,
): Promise<SignedIn> {
  return atProvider(issuer, async (provider) => {
    const device = await oidc.initiateDeviceAuthorization(provider, { ...wishes, scope })
    const { verification_uri: address, user_code: code, verification_uri_complete: complete } = device
    show({ address, code, complete })
    const end = AbortSignal.timeout(device.expires_in * 1000)
    const answer = await oidc
      .pollDeviceAuthorizationGrant(provider, device, undefined, { signal: end })
      .catch((error: unknown) => {
        throw end.aborted ? expired() : error
      })
    return signedIn(answer, issuer)
  })
}
