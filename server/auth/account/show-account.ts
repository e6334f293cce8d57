import { create, fromBinary } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Account } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { AccountSchema, PasskeySchema } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { isOperator } from '../../store/operators.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import { loginAddressOf } from '../login/accounts.ts'
import type { Passkey } from '../second-factors/passkeys.ts'
import { passkeysOf } from '../second-factors/passkeys.ts'
import { requiringOrganizations } from '../second-factors/requirement.ts'
import { secondFactorsOf } from '../second-factors/second-factors.ts'

export function* accountOf(identity: string, now: number): Work<Account> {
  const row = yield* first(sql`select proto from identities where uid = ${identity}`)
  const { name = '', email } = row ? fromBinary(IdentitySchema, row[0] as Uint8Array) : {}
  const login = yield* loginAddressOf(identity)
  const factors = yield* secondFactorsOf(identity)
  const shown = email ?? login?.email
  return create(AccountSchema, {
    ...{ uid: identity, name, emailVerified: email !== undefined, local: login !== undefined },
    ...(shown !== undefined && { email: shown }),
    passkeys: (yield* passkeysOf(identity)).map(passkeyMessage),
    ...{ authenticatorApp: factors.hasAuthenticatorApp, recoveryCodesLeft: factors.recoveryCodes },
    requiringOrganizations: yield* requiringOrganizations(identity, now),
    operator: yield* isOperator(identity),
  })
}

export const passkeyMessage = ({ id, name, isSynced, createTime, useTime }: Passkey) =>
  create(PasskeySchema, {
    ...{ id, name, synced: isSynced, createTime: timestampFromMs(createTime) },
    ...(useTime !== undefined && { lastUseTime: timestampFromMs(useTime) }),
  })
