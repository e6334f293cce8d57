// Sign-in with a browser on another machine (device authorization, RFC 8628).
import * as oidc from 'openid-client'
import type { SignInParameters, SignInResult } from './oidc-client.ts'
import { codeExpired, scope, signInResult, withProvider } from './oidc-client.ts'

/** The person opens `url` and enters `code`, or opens `urlWithCode`, which contains the code. */
export type DeviceCode = { url: string; code: string; urlWithCode: string | undefined }

export function signInWithDevice(
  issuer: string,
  parameters: SignInParameters,
  show: (deviceCode: DeviceCode) => void,
): Promise<SignInResult> {
  return withProvider(issuer, async (provider) => {
    const device = await oidc.initiateDeviceAuthorization(provider, { ...parameters, scope })
    const { verification_uri: url, user_code: code, verification_uri_complete: urlWithCode } = device
    show({ url, code, urlWithCode })
    const signal = AbortSignal.timeout(device.expires_in * 1000)
    const tokens = await oidc
      .pollDeviceAuthorizationGrant(provider, device, undefined, { signal })
      .catch((error: unknown) => {
        throw signal.aborted ? codeExpired() : error
      })
    return signInResult(tokens, issuer)
  })
}
