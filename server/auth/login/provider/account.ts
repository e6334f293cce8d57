import type { Configuration } from 'oidc-provider'
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
  async extraTokenClaims(_, token) {
    const email = 'accountId' in token ? (await findPerson(token.accountId))?.email : undefined
    return email ? { email, email_verified: true } : undefined
  },
})
