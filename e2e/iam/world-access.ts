// Completes a random world for tests of access: members of its external groups, bindings that expire, and an auditor who
// may ask about everybody.
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import type { Caller } from '../../server/wire/caller.ts'
import type { Draw } from './draw.ts'
import type { Role, World } from './world.ts'
import { organizationOf, parentOf } from './world.ts'

/** Makes some identities members of the external groups. About half of the memberships have expired at `now`. */
function withMembers(draw: Draw, world: World, now: number): World {
  const identities = [...world.users, ...world.workloads]
  const members = world.mappings.flatMap(({ uid, externalGroup }) =>
    identities
      .filter(() => draw.oneIn(2))
      .map((identity) => ({
        ...{ mapping: uid, externalGroup, identity },
        expireTime: draw.oneIn(2) ? now : now + 3_600_000,
      })),
  )
  return { ...world, members }
}

/** Gives a third of the role bindings an expiry. About half of these have expired at `now`. */
const withExpiries = (draw: Draw, world: World, now: number): World => ({
  ...world,
  bindings: world.bindings.map((binding) =>
    draw.oneIn(3) ? { ...binding, expireTime: draw.oneIn(2) ? now : now + 3_600_000 } : binding,
  ),
})

/** Some identity providers have deactivated some people. */
export const withSuspensions = (draw: Draw, world: World): World => ({
  ...world,
  suspensions: world.providers.flatMap(({ uid }) =>
    world.users.filter(() => draw.oneIn(3)).map((identity) => ({ identity, provider: uid })),
  ),
})

const auditorUid = ({ groups }: World) => `${groups[0]}/${'a'.repeat(16)}`

/** Adds a workload that may list identities and role bindings in every organization. */
function withAuditor(world: World): World {
  const identity = auditorUid(world)
  const { uid, capabilities } = builtInRole('viewer')
  const role: Role = { uid, capabilities: new Set(capabilities) }
  const bindings = world.groups
    .filter((group) => parentOf(group) === '')
    .map((group) => ({ uid: `${organizationOf(group)}/${'b'.repeat(16)}`, identity, role, group }))
  return { ...world, workloads: [...world.workloads, identity], bindings: [...world.bindings, ...bindings] }
}

export const auditorOf = (world: World): Caller => ({
  ...{ identity: auditorUid(world), issuedAt: Math.floor(Date.now() / 1000) },
})

export const completed = (draw: Draw, world: World, now: number): World =>
  withAuditor(withExpiries(draw, withMembers(draw, world, now), now))
