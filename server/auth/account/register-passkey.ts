import type { RegisterPasskeyRequest } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { failedPrecondition } from '../../aip/errors.ts'
import { recordAccountEvent } from '../administration/administration.ts'
import { loginAddressOf } from '../login/accounts.ts'
import type { Passkey } from '../second-factors/passkeys.ts'
import { insertPasskey, passkeysOf } from '../second-factors/passkeys.ts'
import { ceremonyMs, registrationOptions, verifyRegistration } from '../second-factors/webauthn.ts'
import type { AccountCall, AccountDependencies } from './account-call.ts'
import { noLocalAccount } from './change-password.ts'

/** The kind under which a challenge is stored. A person has at most one, and it works once. */
const challengeKind = 'PasskeyRegistration'
const challengeSize = 32

export async function beginPasskey<D>(
  deps: AccountDependencies<D>,
  { demand, deadline }: AccountCall<D>,
): Promise<string> {
  const challenge = deps.random(challengeSize)
  const registrant = await deps.store.write(function* () {
    const access = yield* deps.admit(demand, { freshSignIn: true })
    const { identity } = access.caller
    const address = yield* loginAddressOf(identity)
    if (!address) throw noLocalAccount()
    const payload = { challenge: challenge.toString('base64url') }
    yield* deps.states.put(challengeKind, identity, payload, ceremonyMs / 1000, { identity })
    yield* recordAccountEvent(access, identity, 'passkey-begun')
    return { identity, name: address.email, passkeys: yield* passkeysOf(identity) }
  }, deadline)
  return registrationOptions(deps.party, registrant, challenge)
}

export async function registerPasskey<D>(
  deps: AccountDependencies<D>,
  { request, demand, deadline }: AccountCall<D, RegisterPasskeyRequest>,
): Promise<Passkey> {
  const challenge = await deps.store.write(function* () {
    const { identity } = (yield* deps.admit(demand, { freshSignIn: true })).caller
    const state = yield* deps.states.find(challengeKind, identity)
    yield* deps.states.remove(challengeKind, identity)
    return state && String(state.payload.challenge)
  }, deadline)
  if (challenge === undefined)
    throw failedPrecondition(
      'NO_CHALLENGE',
      'begin the registration first; it is valid for five minutes and one attempt',
    )
  const verified = await verifyRegistration(deps.party, request.responseJson, challenge)
  return deps.store.write(function* () {
    const access = yield* deps.admit(demand, { freshSignIn: true })
    const { identity } = access.caller
    const passkey: Passkey = {
      ...{ ...verified, identity, name: request.name, createTime: deps.now(), useTime: undefined },
    }
    yield* insertPasskey(passkey)
    yield* recordAccountEvent(access, identity, 'passkey-added')
    return passkey
  }, deadline)
}
