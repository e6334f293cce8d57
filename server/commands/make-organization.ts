// Creates an organization with its owner on behalf of the operator: there is no caller to authorize.
import { newChildUid } from '../aip/uid.ts'
import { addOperator } from '../auth/administration/operators.ts'
import { ensureVouchedAccount } from '../auth/login/accounts.ts'
import { requireEnabled } from '../auth/sign-outs.ts'
import { peopleOf } from '../authentication.ts'
import type { RandomBytes } from '../crypto/random.ts'
import { operatorAccessFor } from '../policy/system-access.ts'
import { createEntry } from '../resources/create.ts'
import { identities } from '../resources/iam/identities/table.ts'
import { bindOwner, createOrganization } from '../resources/iam/organization.ts'
import { identityOf } from '../resources/iam/people.ts'
import type { Store } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { Work } from '../store/work.ts'
import { first } from '../store/work.ts'

export const bootstrapAccess = operatorAccessFor('stemmad bootstrap')

export type OrganizationDependencies = {
  store: Store
  authUrl: string
  now(): number
  random: RandomBytes
}

/** Uids of the organization and of its owner. */
export type NewOrganization = { organization: string; identity: string }

/**
 * The owner is the person with the address `email`, who must not be disabled, and becomes an operator if it is the
 * first organization. Without `email`, the owner is a new identity in the organization.
 */
export function makeOrganization(
  deps: OrganizationDependencies,
  name: string,
  email?: string,
): Promise<NewOrganization> {
  const { store, authUrl, now, random } = deps
  const context = { access: bootstrapAccess, now, random }
  return store.write(function* () {
    const isFirst = !(yield* first(sql`select uid from groups limit 1`))
    const organization = yield* createOrganization(context, name)
    const identity =
      email === undefined
        ? yield* createOwner(deps, organization)
        : yield* ensureVouchedAccount(peopleOf(context), authUrl, email, now())
    yield* requireEnabled(identity)
    yield* bindOwner(context, organization, identity)
    if (isFirst && email !== undefined) yield* addOperator(bootstrapAccess, identity, now())
    return { organization, identity }
  })
}

/**
 * Creates an identity in the organization. Only our own issuer issues tokens for it, and it may create further
 * organizations.
 */
function* createOwner(
  { authUrl, now, random }: OrganizationDependencies,
  organization: string,
): Work<string> {
  const time = now()
  const uid = newChildUid(organization, time, random)
  const owner = identityOf({ issuer: authUrl, subject: uid, name: 'owner' }, time)
  yield* createEntry(bootstrapAccess, identities, owner, { uid, now: time })
  yield sql`insert into founders (identity) values (${uid})`
  return uid
}
