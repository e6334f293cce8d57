import type { ChangePasswordRequest } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { aborted, failedPrecondition, invalidField } from '../../aip/errors.ts'
import { equalInConstantTime } from '../../crypto/digest.ts'
import { sql } from '../../store/sql.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import { recordAccountEvent } from '../administration/administration.ts'
import type { LoginAddress } from '../login/accounts.ts'
import { loginAddressOf } from '../login/accounts.ts'
import { attemptPassword } from '../login/attempt-password.ts'
import type { HashDependencies } from '../login/claimed-accounts.ts'
import { hashForUnverifiedAddress, possibleClaimHashes } from '../login/claimed-accounts.ts'
import { passwordFault } from '../login/passwords.ts'
import { endOtherSignIns } from '../sign-in-records.ts'
import type { AccountCall, AccountDependencies } from './account-call.ts'

type StoredPassword = LoginAddress & { identity: string; hash: string }

/** The current password is asked for, because the token of the call may be stolen. */
export async function changePassword<D>(
  deps: AccountDependencies<D>,
  { request, demand, address, deadline }: AccountCall<D, ChangePasswordRequest>,
): Promise<void> {
  const { store, secret, now } = deps
  const stored = await store.write(function* () {
    const { caller } = yield* deps.admit(demand, { freshSignIn: false })
    return yield* passwordOf(caller.identity)
  }, deadline)
  const { email } = stored
  const fault = passwordFault(request.newPassword, email)
  if (fault) throw invalidField('new_password', fault)
  // Counts as a failed sign-in even if it succeeds. Otherwise a caller could guess the passwords of
  // other accounts with the same unverified address: `replaceHash` refuses a new password that one
  // of them has.
  const hash = await attemptPassword(deps, email, address, async (passwords) => {
    const hashing = { passwords, secret }
    if (!(await isPassword(hashing, stored, request.currentPassword)))
      throw invalidField('current_password', 'is wrong')
    return stored.isUnverified
      ? hashForUnverifiedAddress(hashing, email, request.newPassword)
      : passwords.hash(request.newPassword)
  })
  await store.write(function* () {
    const access = yield* deps.admit(demand, { freshSignIn: false })
    const { identity, signIn } = access.caller
    yield* replaceHash(stored, hash)
    yield* endOtherSignIns(identity, signIn?.id ?? '', now())
    yield* recordAccountEvent(access, identity, 'password-changed')
  }, deadline)
}

function* passwordOf(identity: string): Work<StoredPassword> {
  const address = yield* loginAddressOf(identity)
  const row = yield* first(sql`select password from accounts where identity = ${identity}
    union all select password from claimed_accounts where identity = ${identity}`)
  if (!address || !row) throw noLocalAccount()
  return { ...address, identity, hash: row[0] as string }
}

export const noLocalAccount = () =>
  failedPrecondition(
    'NO_LOCAL_ACCOUNT',
    'you do not sign in with a password of this server; your identity provider decides about passwords and second factors',
  )

async function isPassword(
  hashing: HashDependencies,
  { email, isUnverified, hash }: StoredPassword,
  password: string,
): Promise<boolean> {
  if (!isUnverified) return hashing.passwords.verify(password, hash)
  const hashes = await possibleClaimHashes(hashing, email, password)
  return hash !== '' && hashes.some((possible) => equalInConstantTime(possible, hash))
}

/** Fails if another call or the operator has changed the password meanwhile. */
function* replaceHash({ identity, hash: previous }: StoredPassword, hash: string): Work<void> {
  try {
    for (const table of [sql`accounts`, sql`claimed_accounts`]) {
      const rows = yield sql`update ${table} set password = ${hash}
        where identity = ${identity} and password = ${previous} returning identity`
      if (rows.length > 0) return
    }
  } catch (error) {
    // Another account that claims this address has the same password.
    if (error instanceof StoreError && error.kind === 'unique')
      throw invalidField('new_password', 'must be harder to guess')
    throw error
  }
  throw aborted('the password was changed at the same time; try again with the new one')
}
