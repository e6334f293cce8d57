import type { Configuration } from 'oidc-provider'
import { signInClaim } from '../../tokens/sign-in-claim.ts'
import { signInIdOf } from '../expiring-states.ts'
import type { ProviderDependencies } from './dependencies.ts'

/** The claims of a person in id tokens and access tokens. Only a verified address is included. */
export const accountConfiguration = ({
  findPerson,
}: ProviderDependencies): Pick<Configuration, 'findAccount' | 'extraTokenClaims'> => ({
  async findAccount(_, identity) {
    const person = await findPerson(identity)
    if (!person) return undefined
    const { name, email } = person
    return {
      accountId: identity,
      claims: () => ({ sub: identity, name, ...(email && { email, email_verified: true }) }),
    }
  },
  async extraTokenClaims({ oidc: { entities } }, token) {
    if (!('accountId' in token)) return undefined
    const { accountId: person, grantId = '' } = token
    const { AuthorizationCode, DeviceCode, RefreshToken } = entities
    // If the time of the sign-in is unknown, 0 is used. The token is then not valid if the person has ever signed out
    // everywhere.
    const source = AuthorizationCode ?? DeviceCode ?? RefreshToken
    const signedInAt = source?.authTime ?? 0
    const provider = source?.acr
    const email = (await findPerson(person))?.email
    return {
      ...signInClaim({ person, signedInAt, id: signInIdOf(grantId), ...(provider && { provider }) }),
      ...(email && { email, email_verified: true }),
    }
  },
})
