// The calls of sign-in that are part of the contract: registering with a token, and fetching the encrypted token of a
// headless sign-in (see headless-sessions.ts).
import { create } from '@bufbuild/protobuf'
import type { GetHeadlessSessionRequest, RegistrationRequest } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { HeadlessSessionSchema, SessionSchema } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { Code } from '../../../aip/code.ts'
import { invalidField, StatusError } from '../../../aip/errors.ts'
import type { Work } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import { throttledExchange } from '../../exchange/failed-exchanges.ts'
import type { OpenCall } from '../../exchange/security-token-service.ts'
import { bearerOf } from '../../exchange/security-token-service.ts'
import { requireEnabled, requireIssuedAfterSignOut } from '../../sign-outs.ts'
import type { Throttle } from '../../throttle.ts'
import { chooseProvider, uidOf } from '../choose-provider.ts'
import type { ExpiringStates } from '../expiring-states.ts'
import { findHeadlessSession, requireHeadlessCode } from '../headless-sessions.ts'
import type { People } from '../people.ts'
import type { ForeignPerson, RegistrantDependencies } from './registrant.ts'
import { findRegistrant } from './registrant.ts'

export type RegistrationDependencies = RegistrantDependencies & {
  states: ExpiringStates
  people: People
  throttle: Throttle
}

export const registrationCalls = (deps: RegistrationDependencies) => ({
  register: (call: OpenCall<RegistrationRequest>) => register(deps, call),
  getHeadlessSession: (call: OpenCall<GetHeadlessSessionRequest>) => getHeadlessSession(deps, call),
})

async function register(
  deps: RegistrationDependencies,
  { request, authorization, address }: OpenCall<RegistrationRequest>,
): Promise<Reply> {
  const bearer = bearerOf(authorization)
  const { code, identityId } = request
  const run = async () => registerPerson(deps, await findRegistrant(deps, bearer), code, identityId)
  // Invite codes can also be guessed with a valid token, so every error except an outage counts as a failure.
  const isRefusal = (error: StatusError) => error.code !== Code.UNAVAILABLE
  const attempt = { address, bearer, identity: identityId }
  const session = await throttledExchange(deps.throttle, attempt, run, isRefusal)
  return messageReply(SessionSchema, create(SessionSchema, session))
}

function registerPerson(
  { store, people, now }: RegistrationDependencies,
  registrant: ForeignPerson | Identity,
  inviteCode: string,
  expectedUid: string,
): Promise<{ identity: string; group: string }> {
  return store.write(function* () {
    const found = yield* resolve(people, registrant, expectedUid, now())
    const { uid, email } = found
    if (expectedUid !== '' && expectedUid !== uid)
      throw invalidField('identity_id', 'must be the identity that the token belongs to, or empty')
    yield* requireEnabled(uid)
    yield* found.ensure()
    if (inviteCode === '') return { identity: uid, group: '' }
    const { group } = yield* people.acceptInvite(inviteCode, { identity: uid, email })
    return { identity: uid, group }
  })
}

type Resolved = { uid: string; email: string | undefined; ensure(): Work<void> }

/** Finds the identity to register. Nothing is written before `ensure`, which can create it. */
function* resolve(
  people: People,
  registrant: ForeignPerson | Identity,
  expectedUid: string,
  time: number,
): Work<Resolved> {
  if ('uid' in registrant) return { uid: registrant.uid, email: registrant.email, *ensure() {} }
  const { issuedAt } = registrant
  if ('person' in registrant) {
    const { person } = registrant
    const uid = uidOf(registrant)
    return {
      ...{ uid, email: person.email },
      *ensure() {
        yield* people.ensure(person)
        yield* requireIssuedAfterSignOut(uid, issuedAt)
      },
    }
  }
  const { provided: all } = registrant
  const expected = all.filter((candidate) => uidOf(candidate) === expectedUid)
  const provided = yield* chooseProvider(people, expected.length > 0 ? expected : all, { issuedAt, time })
  if (!provided) throw new Error('a foreign person must have at least one candidate in `provided`')
  const uid = uidOf(provided)
  return {
    ...{ uid, email: provided.person.email },
    *ensure() {
      yield* people.ensureProvided(provided)
      yield* requireIssuedAfterSignOut(uid, issuedAt, provided.provider)
    },
  }
}

async function getHeadlessSession(
  { store, states }: RegistrationDependencies,
  { request }: OpenCall<GetHeadlessSessionRequest>,
): Promise<Reply> {
  requireHeadlessCode(request.code)
  const session = await store.read(() => findHeadlessSession(states, request.code))
  if (!session) throw new StatusError(Code.NOT_FOUND, 'nobody has signed in with this code yet')
  const message = create(HeadlessSessionSchema, {
    ecdhPublicKey: Buffer.from(session.publicKey),
    encryptedIdtoken: Buffer.from(session.encrypted, 'base64url'),
  })
  return messageReply(HeadlessSessionSchema, message)
}
