import type { Configuration } from 'oidc-provider'
import type { SignIn } from '../../../wire/caller.ts'
import { lacksRequiredFactor, provesSecondFactor } from '../../second-factors/requirement.ts'
import { signInClaim } from '../../tokens/sign-in-claim.ts'
import { signInIdOf } from '../expiring-states.ts'
import type { ProviderDependencies } from './dependencies.ts'

/** The claims of a person in id tokens and access tokens. Only a verified address is included. */
export const accountConfiguration = ({
  findPerson,
  store,
  now,
}: ProviderDependencies): Pick<Configuration, 'findAccount' | 'extraTokenClaims'> => ({
  /** `source` is the code or token that the client has sent; undefined for a browser's session. */
  async findAccount(_, identity, source) {
    const person = await findPerson(identity)
    if (!person) return undefined
    // A person who lacks a required second factor is not found, so no token is issued. The next
    // sign-in asks for the second factor.
    if (source && !isAccessToken(source)) {
      const signIn = signInOf(identity, source)
      if (await store.read(() => lacksRequiredFactor(signIn, now()))) return undefined
    }
    const { name, email } = person
    return {
      accountId: identity,
      claims: () => ({
        ...{ sub: identity, name, ...emailClaims(email) },
        ...(source && signInClaim(signInOf(identity, source))),
      }),
    }
  },
  async extraTokenClaims({ oidc: { entities } }, token) {
    if (!('accountId' in token)) return undefined
    const { accountId: person, grantId } = token
    const { AuthorizationCode, DeviceCode, RefreshToken } = entities
    const { authTime, acr } = AuthorizationCode ?? DeviceCode ?? RefreshToken ?? {}
    const email = (await findPerson(person))?.email
    return { ...signInClaim(signInOf(person, { authTime, grantId, acr })), ...emailClaims(email) }
  },
})

/** oidc-provider does not copy `authTime`, `acr` and `amr` to its access tokens. */
const isAccessToken = ({ kind }: { kind: string }) => kind === 'AccessToken'

const emailClaims = (email: string | undefined) => email && { email, email_verified: true }

/**
 * `acr` is the uid of the identity provider that the person signed in through (state-identity.ts), `amr` the
 * authentication methods.
 */
type Source = {
  authTime?: number | undefined
  grantId?: string | undefined
  acr?: string | undefined
  amr?: string[] | undefined
}

/**
 * The sign-in of a code or token of oidc-provider. If the time of the sign-in is unknown, 0 is used. The token is then
 * not valid if the person has ever signed out everywhere.
 */
const signInOf = (person: string, { authTime, grantId = '', acr, amr }: Source): SignIn => ({
  ...{ person, signedInAt: authTime ?? 0, id: signInIdOf(grantId) },
  ...{ ...(acr && { provider: acr }), hasSecondFactor: provesSecondFactor(amr) },
})
