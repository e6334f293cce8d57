import { create } from '@bufbuild/protobuf'
import type {
  RegisterPasskeyRequest,
  RemovePasskeyRequest,
  RenamePasskeyRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { BeginPasskeyResponseSchema, PasskeySchema } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { messageReply } from '../../wire/reply.ts'
import { recordAccountEvent } from '../administration/administration.ts'
import { removePasskey, renamePasskey } from '../second-factors/passkeys.ts'
import { requireRemainingFactor } from '../second-factors/requirement.ts'
import type { AccountCall, AccountDependencies } from './account-call.ts'
import { beginPasskey, registerPasskey } from './register-passkey.ts'
import { changeAccount, runAccountCall } from './run-account-call.ts'
import { passkeyMessage } from './show-account.ts'

export const passkeyCalls = <D>(deps: AccountDependencies<D>) => ({
  beginPasskey: async (call: AccountCall<D>) =>
    messageReply(
      BeginPasskeyResponseSchema,
      create(BeginPasskeyResponseSchema, { optionsJson: await beginPasskey(deps, call) }),
    ),

  registerPasskey: async (call: AccountCall<D, RegisterPasskeyRequest>) =>
    messageReply(PasskeySchema, passkeyMessage(await registerPasskey(deps, call))),

  renamePasskey: async (call: AccountCall<D, RenamePasskeyRequest>) =>
    messageReply(
      PasskeySchema,
      await runAccountCall(deps, call, function* (identity, access) {
        const passkey = yield* renamePasskey(identity, call.request.id, call.request.name)
        yield* recordAccountEvent(access, identity, 'passkey-renamed')
        return passkeyMessage(passkey)
      }),
    ),

  removePasskey: (call: AccountCall<D, RemovePasskeyRequest>) =>
    changeAccount(
      deps,
      call,
      'passkey-removed',
      function* (identity) {
        yield* removePasskey(identity, call.request.id)
        yield* requireRemainingFactor(identity, deps.now())
      },
      { freshSignIn: true },
    ),
})
