// The organizations of the clients and the attackers, with their credentials. `authorization` is the value of that header.

/** `group` is two levels below the organization. */
export type Tenant = { organization: string; group: string; authorization: string }

/** A workload that exchanges tokens of its issuer. `authorization` has a token of the issuer. */
export type Workload = { identity: string; authorization: string }

export type AttackerTenant = Tenant & {
  /** The headers of further owners. */
  members: string[]
  /** The header of an identity that is bound in a thousand groups. */
  memberOfManyGroups: string
  repo: string
  /** The workload that the attackers try to be. */
  attacked: Workload
}
