// WebAuthn (Level 3), by the library @simplewebauthn/server. It is loaded at the first use, because
// it is large (7 MB on disk) and servers without passkeys never need it.
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { invalidField } from '../../aip/errors.ts'
import type { Passkey } from './passkeys.ts'

const load = () => import('@simplewebauthn/server')

/** Browsers offer a passkey only to pages of the host `id` and its subdomains; we accept it only from `origins`. */
export type RelyingParty = { id: string; origins: string[] }

export const relyingPartyOf = (authUrl: string, baseUrl: string): RelyingParty => ({
  id: new URL(authUrl).hostname,
  origins: [...new Set([authUrl, baseUrl].map((url) => new URL(url).origin))],
})

/** How long a person may take to register or to use a passkey, in milliseconds. */
export const ceremonyMs = 5 * 60_000

type Registrant = { identity: string; name: string; passkeys: readonly Passkey[] }

/** Options for `navigator.credentials.create`, as JSON. */
export async function registrationOptions(
  { id }: RelyingParty,
  { identity, name, passkeys }: Registrant,
  challenge: Uint8Array,
): Promise<string> {
  const { generateRegistrationOptions } = await load()
  const options = await generateRegistrationOptions({
    ...{ rpID: id, rpName: 'Stemma', userName: name, userDisplayName: name, timeout: ceremonyMs },
    // The user handle must not contain personal data (WebAuthn Level 3, 14.6.1). The uid of a person is a digest.
    userID: new Uint8Array(Buffer.from(identity, 'hex')),
    challenge: new Uint8Array(challenge),
    excludeCredentials: passkeys.map(({ id, transports }) => ({ id, transports })),
    // The authenticator verifies the person, so a passkey alone counts as two factors.
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
  })
  return JSON.stringify(options)
}

export type NewPasskey = Pick<Passkey, 'id' | 'publicKey' | 'counter' | 'transports' | 'isSynced'>

/** Throws if the response of the browser is not valid for this challenge. */
export async function verifyRegistration(
  { id, origins }: RelyingParty,
  responseJson: string,
  challenge: string,
): Promise<NewPasskey> {
  const { verifyRegistrationResponse } = await load()
  const { registrationInfo } = await verifyRegistrationResponse({
    response: parseResponse(responseJson) as RegistrationResponseJSON,
    ...{ expectedChallenge: challenge, expectedOrigin: origins, expectedRPID: id },
  }).catch((): { registrationInfo?: undefined } => ({}))
  if (!registrationInfo) throw invalidField('response_json', 'is not a valid registration for this server')
  const { credential, credentialBackedUp } = registrationInfo
  return {
    ...{ id: credential.id, publicKey: new Uint8Array(credential.publicKey), counter: credential.counter },
    transports: (credential.transports ?? [])
      .filter((transport) => /^[a-z-]{1,32}$/.test(transport))
      .slice(0, 10),
    isSynced: credentialBackedUp,
  }
}

export type Assertion = { credentialId: string; response: AuthenticationResponseJSON }

/** Undefined if the text is not the response of a browser. */
export function readAssertion(responseJson: string): Assertion | undefined {
  try {
    const response = parseResponse(responseJson) as AuthenticationResponseJSON
    return { credentialId: response.id, response }
  } catch {
    return undefined
  }
}

/** The new signature counter; undefined if the signature, challenge, origin or counter is wrong. */
export async function verifyAssertion(
  { id, origins }: RelyingParty,
  { response }: Assertion,
  { id: credentialId, identity, publicKey, counter }: Passkey,
  isChallenge: (challenge: string) => boolean,
): Promise<number | undefined> {
  const { verifyAuthenticationResponse } = await load()
  const { userHandle } = response.response
  if (userHandle && userHandle !== Buffer.from(identity, 'hex').toString('base64url')) return undefined
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    ...{ response, credential: { id: credentialId, publicKey, counter } },
    ...{ expectedChallenge: isChallenge, expectedOrigin: origins, expectedRPID: id },
  }).catch(() => ({ verified: false, authenticationInfo: undefined }))
  return verified ? authenticationInfo?.newCounter : undefined
}

/** Checks only the parts that are used before the library checks the whole response. */
function parseResponse(text: string): { id: string; response: { userHandle?: string } } {
  const value = parseJson(text) as { id?: unknown; response?: { userHandle?: unknown } } | null
  const handle = value?.response?.userHandle
  // Ids are base64url. PostgreSQL would refuse other characters, such as NUL.
  const isValid =
    typeof value?.id === 'string' && /^[\w-]{1,2048}$/.test(value.id) && typeof value.response === 'object'
  if (!isValid || !value.response || (handle != null && typeof handle !== 'string'))
    throw invalidField('response_json', 'must be the result of the browser call as JSON')
  return value as { id: string; response: { userHandle?: string } }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
