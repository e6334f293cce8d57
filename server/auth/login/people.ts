// People who sign in, and the changes to resources that a sign-in makes.
import type { Work } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'
import type { InviteDescription } from '../../wire/invite-description.ts'
import type { Person } from '../../wire/person.ts'

/** A person's name and verified address. */
export type Profile = { name: string; email: string | undefined }

/**
 * A person who has proven who they are. `email` is their verified address. An invite that is limited to one address
 * can be accepted only by the person who has that address.
 */
export type AuthenticatedPerson = {
  identity: string
  email: string | undefined
  /** The identity provider that the person has signed in through. */
  provider?: string | undefined
  /** When the person signed in to the session that is continued, in seconds since 1970. Absent for a new sign-in. */
  since?: number | undefined
  /** The authentication methods of the session that is continued. Absent for a new sign-in. */
  methods?: string[] | undefined
}

/** A person whom a token of an identity provider names. `externalId` names them in SCIM. */
export type ProvidedPerson = { person: Person; provider: string; externalId: string }

/** Functions of resources that sign-in uses. They are passed in, because this room must not import resources. */
export type People = {
  /** The uid of a person's identity, which is created if it does not exist. */
  ensure(person: Person): Work<string>
  /**
   * Like `ensure`, for a person who presents a token of an identity provider. Throws if the provider has deactivated
   * them by SCIM, or provisions people by SCIM and has not provisioned them.
   */
  ensureProvided(person: ProvidedPerson): Work<string>
  /**
   * The uids of the providers that refuse a token of the person that was issued at `issuedAt` (in
   * seconds since 1970): `ensureProvided` would throw, or the provider has signed the person out
   * since then. All candidates must be the same person.
   */
  refusingProviders(candidates: readonly ProvidedPerson[], issuedAt: number): Work<string[]>
  /**
   * Like `ensureProvided`, for a person who signs in through the provider in the browser. They thereby consent to the
   * SCIM groups of the provider and become a member of them.
   */
  ensureSignedIn(person: ProvidedPerson): Work<string>
  /**
   * Binds a person to the default role of an identity provider, unless they had a default role in its group before: a
   * deleted binding is not created again.
   */
  grantDefaultRole(provider: string, identity: string): Work<void>
  /**
   * Makes a person a member of these groups of an identity provider, for as long as an access token is valid, and ends
   * memberships from earlier sign-ins with the same provider. Returns the number of memberships above the limit, which
   * were not stored.
   */
  replaceGroups(provider: string, identity: string, groupIds: readonly string[]): Work<number>
  acceptInvite(code: string, person: AuthenticatedPerson): Work<{ group: string; role: string }>
  /** Describes the invite of a code; undefined if there is none. An invite that has expired is described, too. */
  describeInvite(code: string): Work<InviteDescription | undefined>
  /** Creates an organization and makes an identity its owner; returns its uid. */
  createOrganization(name: string, owner: string): Work<string>
  /** Deletes a person with all their role bindings and access requests. */
  remove(access: WriteAccess, identity: string): Work<void>
  /** Describes what is wrong with the name of an organization; undefined if nothing is. */
  organizationNameFault(name: string): string | undefined
}
