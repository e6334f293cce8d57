// Whether the person may do something in a group. The server checks every call; pages ask earlier, to disable buttons.
import { api } from './api.ts'
import { read, useData, useRead } from './read.ts'
import { isInGroup } from './uids.ts'

/** The capabilities that pages ask for. Add one here before a page uses it. */
const capabilities = [
  ...(['groups.create', 'groups.update', 'groups.list', 'groups.delete'] as const),
  ...(['identity.create', 'identity.update', 'identity.list', 'identity.delete'] as const),
  ...(['roles.create', 'roles.update', 'roles.list', 'roles.delete'] as const),
  ...([
    'role_bindings.create',
    'role_bindings.update',
    'role_bindings.list',
    'role_bindings.delete',
  ] as const),
  ...(['group_invites.create', 'group_invites.list', 'group_invites.delete'] as const),
  ...(['identity_providers.create', 'identity_providers.update', 'identity_providers.list'] as const),
  ...(['identity_providers.delete', 'identity_providers.scim.manage'] as const),
  ...(['account_associations.create', 'account_associations.update', 'account_associations.list'] as const),
  ...(['account_associations.delete', 'audit.entries.list', 'terms.list', 'terms.accept'] as const),
  ...([
    'subscriptions.create',
    'subscriptions.update',
    'subscriptions.list',
    'subscriptions.delete',
  ] as const),
  ...([
    'repo.create',
    'repo.update',
    'repo.list',
    'repo.delete',
    'manifest.list',
    'manifest.delete',
  ] as const),
  ...([
    'tag.create',
    'tag.update',
    'tag.list',
    'tag.delete',
    'repo.blobs.get',
    'referrers.list',
    'vuln_report.list',
  ] as const),
  ...(['advisories.create', 'advisories.update', 'advisories.list', 'advisories.delete'] as const),
]

export type Capability = (typeof capabilities)[number]

/**
 * Loaded for the group of every page (main.tsx). The page of a resource also loads the permissions
 * in the group that contains the resource.
 */
export const readPermissions = (group: string) =>
  read(api.access.batchCheckAccess, {
    questions: capabilities.map((capability) => ({ capability, resource: group })),
  })

/**
 * Returns a function that says why the person may not do something in the group; undefined if they have all capabilities
 * that it needs. The result is for `disabledReason` of a button.
 */
export function useDenial(group: string): (...needed: Capability[]) => string | undefined {
  const { decisions = [] } = useData(readPermissions(group))
  return (...needed) => {
    const missing = needed.find((capability) => !decisions[capabilities.indexOf(capability)]?.allowed)
    return missing && reasonOf(missing, 'this group')
  }
}

const reasonOf = (capability: Capability, where: string) =>
  `You need the capability ${capability} in ${where}. An owner can give you a role that has it.`

/** The largest number of questions in one call. */
const maxQuestions = 1000

/**
 * Like `useDenial`, for a list of things in several groups. Roles apply to everything below their group, so only groups
 * where the answer may differ from that of the opened group are asked about.
 */
export function useDenialIn<Asked extends Capability>(
  opened: string,
  groups: readonly string[],
  asked: readonly Asked[],
): (group: string, capability: Asked) => string | undefined {
  const denial = useDenial(opened)
  const mayDiffer = (group: string, capability: Asked) =>
    group !== '' && (denial(capability) === undefined ? !isInGroup(group, opened) : group !== opened)
  const questions = [...new Set(groups)]
    .flatMap((resource) => asked.map((capability) => ({ capability, resource })))
    .filter(({ capability, resource }) => mayDiffer(resource, capability))
    .slice(0, maxQuestions)
  const { data } = useRead(read(api.access.batchCheckAccess, { questions }), questions.length > 0)
  const allowed = new Map(
    questions.map(({ capability, resource }, at) => [
      `${capability} ${resource}`,
      data?.decisions?.[at]?.allowed,
    ]),
  )
  return (group, capability) => {
    const isAllowed = allowed.get(`${capability} ${group}`)
    if (isAllowed === undefined) return denial(capability)
    return isAllowed ? undefined : reasonOf(capability, 'its group')
  }
}
