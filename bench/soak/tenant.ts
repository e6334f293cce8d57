// The organizations of the clients and the attackers. `authorization` is the value of an Authorization header.

/** `group` is two levels below the organization. */
export type Tenant = { organization: string; group: string; authorization: string }

/** A workload that exchanges tokens of its issuer. `authorization` has a token of the issuer. */
export type Workload = { identity: string; authorization: string }

export type AttackerTenant = Tenant & {
  /** The Authorization headers of further owners of the organization. */
  members: string[]
  /** The Authorization header of an identity that has role bindings in a thousand groups. */
  memberOfManyGroups: string
  repo: string
  /** The workload that the attackers try to impersonate. */
  victim: Workload
}
