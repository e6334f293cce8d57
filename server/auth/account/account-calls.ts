// The account service: what people do with their own account.
import { create } from '@bufbuild/protobuf'
import type {
  ChangePasswordRequest,
  EndSessionRequest,
  RenameAccountRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import {
  AccountSchema,
  ListSessionsResponseSchema,
  MakeRecoveryCodesResponseSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { failedPrecondition, notFound } from '../../aip/errors.ts'
import { emptyReply, messageReply } from '../../wire/reply.ts'
import { recordAccountEvent } from '../administration/administration.ts'
import { makeRecoveryCodes } from '../second-factors/recovery-codes.ts'
import { hasSecondFactor, secondFactorsOf } from '../second-factors/second-factors.ts'
import { endListedSignIn, listSignIns } from '../sign-in-records.ts'
import { signOutEverywhere } from '../sign-outs.ts'
import type { AccountCall, AccountDependencies } from './account-call.ts'
import { authenticatorAppCalls } from './authenticator-app-calls.ts'
import { changePassword } from './change-password.ts'
import { passkeyCalls } from './passkey-calls.ts'
import { changeAccount, runAccountCall } from './run-account-call.ts'
import { sessionsMessage } from './sessions.ts'
import { accountOf } from './show-account.ts'

export function accountCalls<D>(deps: AccountDependencies<D>) {
  const { now } = deps
  return {
    getAccount: async (call: AccountCall<D>) =>
      messageReply(AccountSchema, await runAccountCall(deps, call, (identity) => accountOf(identity, now()))),

    renameAccount: async (call: AccountCall<D, RenameAccountRequest>) =>
      messageReply(
        AccountSchema,
        await runAccountCall(deps, call, function* (identity, access) {
          yield* deps.rename(access, identity, call.request.name)
          yield* recordAccountEvent(access, identity, 'renamed')
          return yield* accountOf(identity, now())
        }),
      ),

    listSessions: async (call: AccountCall<D>) =>
      messageReply(
        ListSessionsResponseSchema,
        await runAccountCall(deps, call, function* (identity, { caller }) {
          return sessionsMessage(yield* listSignIns(identity, now()), caller.signIn)
        }),
      ),

    endSession: (call: AccountCall<D, EndSessionRequest>) =>
      changeAccount(deps, call, 'session-ended', function* (identity) {
        const { id } = call.request
        if (!(yield* endListedSignIn(identity, id, now()))) throw notFound('platform.iam.v2beta1.Session', id)
      }),

    endSessions: (call: AccountCall<D>) =>
      changeAccount(deps, call, 'signed-out', (identity) => signOutEverywhere(identity, now())),

    async changePassword(call: AccountCall<D, ChangePasswordRequest>) {
      await changePassword(deps, call)
      return emptyReply
    },

    makeRecoveryCodes: async (call: AccountCall<D>) =>
      messageReply(
        MakeRecoveryCodesResponseSchema,
        await runAccountCall(
          deps,
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

    ...authenticatorAppCalls(deps),
    ...passkeyCalls(deps),
  }
}

const noSecondFactor = () =>
  failedPrecondition(
    'NO_SECOND_FACTOR',
    'add a passkey or an authenticator app before you make recovery codes',
  )
