import { create } from '@bufbuild/protobuf'
import type { ConfirmAuthenticatorAppRequest } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { BeginAuthenticatorAppResponseSchema } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import type { Work } from '../../store/work.ts'
import { emptyReply, messageReply } from '../../wire/reply.ts'
import { recordAccountEvent } from '../administration/administration.ts'
import { loginAddressOf } from '../login/accounts.ts'
import {
  beginAuthenticatorApp,
  confirmAuthenticatorApp,
  removeAuthenticatorApp,
  wrongCode,
} from '../second-factors/authenticator-app.ts'
import { requireRemainingFactor } from '../second-factors/requirement.ts'
import { base32Of, totpUri } from '../second-factors/totp.ts'
import { attemptAll } from '../throttle.ts'
import type { AccountCall, AccountDependencies } from './account-call.ts'
import { noLocalAccount } from './change-password.ts'
import { changeAccount, runAccountCall } from './run-account-call.ts'

export const authenticatorAppCalls = <D>(deps: AccountDependencies<D>) => ({
  beginAuthenticatorApp: async (call: AccountCall<D>) =>
    messageReply(
      BeginAuthenticatorAppResponseSchema,
      await runAccountCall(
        deps,
        call,
        function* (identity, access) {
          const email = yield* requireLocal(identity)
          const key = yield* beginAuthenticatorApp(deps, identity)
          yield* recordAccountEvent(access, identity, 'authenticator-app-begun')
          return create(BeginAuthenticatorAppResponseSchema, {
            secret: base32Of(key),
            uri: totpUri(key, `Stemma ${deps.party.id}`, email),
          })
        },
        { freshSignIn: true },
      ),
    ),

  async confirmAuthenticatorApp(call: AccountCall<D, ConfirmAuthenticatorAppRequest>) {
    const options = { freshSignIn: true }
    const caller = await deps.store.write(function* () {
      return (yield* deps.admit(call.demand, options)).caller.identity
    }, call.deadline)
    // Counted outside of transactions, since PostgreSQL may repeat these.
    const succeed = attemptAll([[deps.throttles.codes, caller]])
    await changeAccount(
      deps,
      call,
      'authenticator-app-added',
      function* (identity) {
        if (!(yield* confirmAuthenticatorApp(deps, identity, call.request.code))) throw wrongCode()
      },
      options,
    )
    succeed()
    return emptyReply
  },

  removeAuthenticatorApp: (call: AccountCall<D>) =>
    changeAccount(
      deps,
      call,
      'authenticator-app-removed',
      function* (identity) {
        yield* removeAuthenticatorApp(identity)
        yield* requireRemainingFactor(identity, deps.now())
      },
      { freshSignIn: true },
    ),
})

/** The address of a local account. */
function* requireLocal(identity: string): Work<string> {
  const address = yield* loginAddressOf(identity)
  if (!address) throw noLocalAccount()
  return address.email
}
