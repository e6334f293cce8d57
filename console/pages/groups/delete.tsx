import { api } from '../../api/api.ts'
import { read, useRead } from '../../api/read.ts'
import { parentOf } from '../../api/uids.ts'
import { useWrite } from '../../api/write.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps } from '../../router/route.ts'
import { navigate } from '../../router/router.ts'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { closeDialog } from '../../ui/dialog.tsx'
import { Problem } from '../../ui/form.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'

/** Deletes the group in the query parameter `about`, or else the group of the page. Lists what is inside. */
export function DeleteGroup({ place }: PageProps) {
  const uid = place.query.get('about') ?? place.group
  const kind = uid.includes('/') ? 'group' : 'organization'
  const { data: group } = useRead(read(api.groups.getGroup, { uid }))
  const { data: usage, error: readError } = useRead(read(api.groups.getGroupUsage, { uid }))
  const { run, isRunning, error } = useWrite(api.groups.deleteGroup, {
    done: `${kind === 'group' ? 'Group' : 'Organization'} deleted`,
    after: () => leave(),
  })
  const inside = (usage?.kinds ?? []).filter(
    ({ used, kind: countedKind }) => Number(used) > 0 && countedKind !== 'registry_mebibytes',
  )
  const leave = () => {
    if (uid !== place.group) return closeDialog(place)
    const parent = parentOf(uid)
    return navigate(parent === '' ? paths.home() : paths.groups(parent), { replace: true })
  }
  return (
    <ConfirmDelete
      place={place}
      kind={kind}
      name={group?.name ?? ''}
      mustTypeName={kind === 'organization'}
      isRunning={isRunning.value}
      error={error.value}
      onConfirm={() => void run({ uid })}
    >
      {readError && <Problem error={readError} />}
      {!usage && !readError && <Skeleton />}
      {usage && inside.length === 0 && <p>The {kind} is empty. This cannot be undone.</p>}
      {inside.length > 0 && (
        <>
          <p>
            Only an empty {kind} can be deleted
            {kind === 'organization' && '; your own role bindings in it are deleted with it'}. In and below it
            there are:
          </p>
          <ul>
            {inside.map(({ kind: countedKind = '', used }) => {
              const text = `${Number(used).toLocaleString('en')} ${nameOf(countedKind, Number(used))}`
              const to = pagesByKind[countedKind]
              return <li key={countedKind}>{to ? <Link to={to(uid)}>{text}</Link> : text}</li>
            })}
          </ul>
        </>
      )}
    </ConfirmDelete>
  )
}

/** For `role_bindings`, returns `role binding` if the count is 1, and `role bindings` otherwise. */
function nameOf(kind: string, count: number): string {
  const plural = kind.replaceAll('_', ' ')
  return count === 1 ? plural.replace(/ies$/, 'y').replace(/s$/, '') : plural
}

/** The pages that list the resources in a group, by kind as `getGroupUsage` spells it. */
const pagesByKind: Readonly<Record<string, (group: string) => string>> = {
  groups: paths.groups,
  identities: paths.identities,
  roles: paths.roles,
  role_bindings: paths.access,
  group_invites: paths.invites,
  group_access_requests: paths.invites,
  identity_providers: paths.identityProviders,
  account_associations: paths.accountAssociations,
  subscriptions: paths.events,
  repos: paths.repos,
  tags: paths.repos,
  advisories: paths.advisories,
}
