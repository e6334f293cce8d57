// The account service: what people do with their own account.
import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type {
  ChangePasswordRequest,
  ConfirmAuthenticatorAppRequest,
  EndSessionRequest,
  RegisterPasskeyRequest,
  RemovePasskeyRequest,
  RenameAccountRequest,
  RenamePasskeyRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import {
  AccountSchema,
  BeginAuthenticatorAppResponseSchema,
  BeginPasskeyResponseSchema,
  ListSessionsResponseSchema,
  MakeRecoveryCodesResponseSchema,
  PasskeySchema,
} from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { failedPrecondition, notFound } from '../../aip/errors.ts'
import type { AccountAction } from '../../store/events/authentication-actions.ts'
import type { Work } from '../../store/work.ts'
import type { Reply } from '../../wire/reply.ts'
import { emptyReply, messageReply } from '../../wire/reply.ts'
import { recordAccountEvent } from '../administration/administration.ts'
import { loginAddressOf } from '../login/accounts.ts'
import {
  beginAuthenticatorApp,
  confirmAuthenticatorApp,
  removeAuthenticatorApp,
  wrongCode,
} from '../second-factors/authenticator-app.ts'
import { removePasskey, renamePasskey } from '../second-factors/passkeys.ts'
import { makeRecoveryCodes } from '../second-factors/recovery-codes.ts'
import { requireRemainingFactor } from '../second-factors/requirement.ts'
import { hasSecondFactor, secondFactorsOf } from '../second-factors/second-factors.ts'
import { base32Of, totpUri } from '../second-factors/totp.ts'
import { endListedSignIn, listSignIns } from '../sign-in-records.ts'
import { signOutEverywhere } from '../sign-outs.ts'
import { attemptAll } from '../throttle.ts'
import type { AccountAccess, AccountCall, AccountDependencies } from './account-call.ts'
import { changePassword, noLocalAccount } from './change-password.ts'
import { beginPasskey, registerPasskey } from './register-passkey.ts'
import { sessionsMessage } from './sessions.ts'
import { accountOf, passkeyMessage } from './show-account.ts'

export function accountCalls<D>(deps: AccountDependencies<D>) {
  const { store, now } = deps

  /** Admits the caller and runs the work, in one transaction. */
  const run = <T>(
    { demand, deadline }: AccountCall<D>,
    work: (identity: string, access: AccountAccess) => Work<T>,
    options = { freshSignIn: false },
  ) =>
    store.write(function* () {
      const access = yield* deps.admit(demand, options)
      return yield* work(access.caller.identity, access)
    }, deadline)

  /** Like `run`, for a change with an empty response. Records the change as `action`. */
  const change = async (
    call: AccountCall<D>,
    action: AccountAction,
    work: (identity: string) => Work<void>,
    options = { freshSignIn: false },
  ) => {
    await run(
      call,
      function* (identity, access) {
        yield* work(identity)
        yield* recordAccountEvent(access, identity, action)
      },
      options,
    )
    return emptyReply
  }

  return {
    getAccount: async (call: AccountCall<D>) =>
      reply(AccountSchema, await run(call, (identity) => accountOf(identity, now()))),

    renameAccount: async (call: AccountCall<D, RenameAccountRequest>) =>
      reply(
        AccountSchema,
        await run(call, function* (identity, access) {
          yield* deps.rename(access, identity, call.request.name)
          yield* recordAccountEvent(access, identity, 'renamed')
          return yield* accountOf(identity, now())
        }),
      ),

    listSessions: async (call: AccountCall<D>) =>
      reply(
        ListSessionsResponseSchema,
        await run(call, function* (identity, { caller }) {
          return sessionsMessage(yield* listSignIns(identity, now()), caller.signIn)
        }),
      ),

    endSession: (call: AccountCall<D, EndSessionRequest>) =>
      change(call, 'session-ended', function* (identity) {
        const { id } = call.request
        if (!(yield* endListedSignIn(identity, id, now()))) throw notFound('platform.iam.v2beta1.Session', id)
      }),

    endSessions: (call: AccountCall<D>) =>
      change(call, 'signed-out', (identity) => signOutEverywhere(identity, now())),

    async changePassword(call: AccountCall<D, ChangePasswordRequest>) {
      await changePassword(deps, call)
      return emptyReply
    },

    beginAuthenticatorApp: async (call: AccountCall<D>) =>
      reply(
        BeginAuthenticatorAppResponseSchema,
        await run(
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
      const caller = await store.write(function* () {
        return (yield* deps.admit(call.demand, options)).caller.identity
      }, call.deadline)
      // Counted outside of transactions, since PostgreSQL may repeat these.
      const succeed = attemptAll([[deps.throttles.codes, caller]])
      await change(
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
      change(
        call,
        'authenticator-app-removed',
        function* (identity) {
          yield* removeAuthenticatorApp(identity)
          yield* requireRemainingFactor(identity, now())
        },
        { freshSignIn: true },
      ),

    makeRecoveryCodes: async (call: AccountCall<D>) =>
      reply(
        MakeRecoveryCodesResponseSchema,
        await run(
          call,
          function* (identity, access) {
            if (!hasSecondFactor(yield* secondFactorsOf(identity))) throw noSecondFactor()
            const codes = yield* makeRecoveryCodes(deps.random, identity)
            yield* recordAccountEvent(access, identity, 'recovery-codes-made')
            return create(MakeRecoveryCodesResponseSchema, { codes })
          },
          { freshSignIn: true },
        ),
      ),

    beginPasskey: async (call: AccountCall<D>) =>
      reply(
        BeginPasskeyResponseSchema,
        create(BeginPasskeyResponseSchema, { optionsJson: await beginPasskey(deps, call) }),
      ),

    registerPasskey: async (call: AccountCall<D, RegisterPasskeyRequest>) =>
      reply(PasskeySchema, passkeyMessage(await registerPasskey(deps, call))),

    renamePasskey: async (call: AccountCall<D, RenamePasskeyRequest>) =>
      reply(
        PasskeySchema,
        await run(call, function* (identity, access) {
          const passkey = yield* renamePasskey(identity, call.request.id, call.request.name)
          yield* recordAccountEvent(access, identity, 'passkey-renamed')
          return passkeyMessage(passkey)
        }),
      ),

    removePasskey: (call: AccountCall<D, RemovePasskeyRequest>) =>
      change(
        call,
        'passkey-removed',
        function* (identity) {
          yield* removePasskey(identity, call.request.id)
          yield* requireRemainingFactor(identity, now())
        },
        { freshSignIn: true },
      ),
  }
}

const reply = <M extends DescMessage>(desc: M, message: MessageShape<M>): Reply => messageReply(desc, message)

/** The address of a local account. */
export function* requireLocal(identity: string): Work<string> {
  const address = yield* loginAddressOf(identity)
  if (!address) throw noLocalAccount()
  return address.email
}

const noSecondFactor = () =>
  failedPrecondition(
    'NO_SECOND_FACTOR',
    'add a passkey or an authenticator app before you make recovery codes',
  )
