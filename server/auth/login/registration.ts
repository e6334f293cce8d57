// The calls of sign-in that are part of the contract: registration by a token, and fetching what waits for a
// program on another machine.
import { create, fromBinary } from '@bufbuild/protobuf'
import type { GetHeadlessSessionRequest, RegistrationRequest } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { HeadlessSessionSchema, SessionSchema } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { Code } from '../../aip/code.ts'
import { invalidField, StatusError } from '../../aip/errors.ts'
import { parentOf, userUid } from '../../aip/uid.ts'
import type { Claims } from '../../claims/match.ts'
import type { Store } from '../../store/db.ts'
import { sql } from '../../store/sql.ts'
import type { Reply } from '../../wire/reply.ts'
import { messageReply } from '../../wire/reply.ts'
import type { OpenCall } from '../exchange/security-token-service.ts'
import { bearerOf } from '../exchange/security-token-service.ts'
import type { IssuerKeys } from '../foreign-tokens/issuer-keys.ts'
import { readUnverified } from '../foreign-tokens/read.ts'
import { verifyByDiscovery } from '../foreign-tokens/verify.ts'
import type { Throttle } from '../throttle.ts'
import { throttled } from '../throttle.ts'
import type { VerifyOwn } from '../tokens/verify-own.ts'
import { findFor, requireCode } from './headless.ts'
import type { People, Person } from './people.ts'
import type { KnownProvider } from './provider-claims.ts'
import { domainOf, findProviders, personBy, personOf } from './provider-claims.ts'
import type { States } from './states.ts'

export type RegistrationOptions = {
  store: Store
  states: States
  people: People
  verifyOwn: VerifyOwn
  issuerKeys: IssuerKeys
  authUrl: string
  baseUrl: string
  throttle: Throttle
  now(): number
}

/** One answer for every token that no organization's provider stands behind. */
const refused = (cause: string) =>
  new StatusError(Code.PERMISSION_DENIED, 'nobody can be registered with this token', {
    cause: new Error(cause),
  })

export function registrationCalls(options: RegistrationOptions) {
  const { store, states, people, verifyOwn, issuerKeys, authUrl, baseUrl, throttle, now } = options
  const ownAudiences = [authUrl, baseUrl, new URL(authUrl).host]

  async function who(bearer: string): Promise<Person | Identity> {
    const { iss } = readUnverified(bearer)
    return iss === authUrl ? ourPerson(await verifyOwn(bearer)) : foreignPerson(bearer, iss)
  }

  async function ourPerson({ sub, scopes, cap }: Claims): Promise<Identity> {
    // Whoever was given a token for less must not make more of it.
    if (parentOf(sub) !== '' || scopes || cap) throw refused('it is not the whole token of a person')
    const [row] = await store.query(sql`select proto from identities where uid = ${sub}`)
    if (!row) throw refused('they are gone')
    return fromBinary(IdentitySchema, row[0] as Uint8Array)
  }

  /** The issuer must be that of a provider, before anything is fetched. */
  async function foreignPerson(bearer: string, issuer: string): Promise<Person> {
    const providers = await findProviders(store, issuer)
    if (providers.length === 0) throw refused(`no provider has the issuer ${issuer.slice(0, 200)}`)
    const claims = await verifyByDiscovery(bearer, issuer, issuerKeys, now())
    const audiences = [claims.aud].flat()
    const domain = domainOf(claims)
    const isTheirs = (one: KnownProvider) => one.domain !== undefined && one.domain === domain
    const named = providers.filter(({ configuration }) => audiences.includes(configuration.clientId))
    const isForUs = audiences.some((one) => ownAudiences.includes(one))
    if (named.length === 0 && !isForUs) throw refused('it is for somebody else')
    try {
      const provider = named.find(isTheirs) ?? named[0]
      // A token for us is by nobody's rule but its issuer's.
      return provider
        ? personOf(provider, claims)
        : personBy(issuer, claims, providers.find(isTheirs)?.domain)
    } catch (error) {
      throw refused((error as Error).message)
    }
  }

  return {
    async register({ request, authorization, address }: OpenCall<RegistrationRequest>): Promise<Reply> {
      const bearer = bearerOf(authorization)
      const { code, identityId } = request
      const isRefusal = ({ code: status }: StatusError) => status !== Code.UNAVAILABLE
      const session = await throttled(
        throttle,
        address,
        async () => register(await who(bearer), code, identityId),
        isRefusal,
      )
      return messageReply(SessionSchema, create(SessionSchema, session))
    },

    async getHeadlessSession({ request, address }: OpenCall<GetHeadlessSessionRequest>): Promise<Reply> {
      requireCode(request.code)
      throttle.require(address)
      const waiting = await store.read(() => findFor(states, request.code))
      if (!waiting) throw new StatusError(Code.NOT_FOUND, 'nobody has signed in with this code yet')
      const session = create(HeadlessSessionSchema, {
        ecdhPublicKey: Buffer.from(waiting.publicKey),
        encryptedIdtoken: Buffer.from(waiting.encrypted, 'base64url'),
      })
      return messageReply(HeadlessSessionSchema, session)
    },
  }

  function register(person: Person | Identity, code: string, expected: string) {
    const uid = 'uid' in person ? person.uid : userUid(person.issuer, person.subject)
    if (expected !== '' && expected !== uid)
      throw invalidField('identity_id', 'must be the identity that the token is of, or empty')
    return store.write(function* () {
      const identity = 'uid' in person ? person.uid : yield* people.ensure(person)
      if (code === '') return { identity, group: '' }
      const { group } = yield* people.acceptInvite(code, { identity, email: person.email })
      return { identity, group }
    })
  }
}
