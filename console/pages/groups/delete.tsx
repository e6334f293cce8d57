import { api } from '../../api/api.ts'
import { read, useRead } from '../../api/read.ts'
import { useWrite } from '../../api/write.ts'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../router/route.ts'
import { navigate } from '../../router/router.ts'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { closeDialog } from '../../ui/dialog.tsx'

/** Deletes the group that the URL names as `about`, and lists what is inside. */
export function DeleteGroup({ place }: PageProps) {
  const uid = place.query.get('about') ?? place.group
  const { data: group } = useRead(read(api.groups.getGroup, { uid }))
  const { data: usage } = useRead(read(api.groups.getGroupUsage, { uid }))
  const { run, isRunning, error } = useWrite(api.groups.deleteGroup, {
    done: 'Group deleted',
    after: () => leave(),
  })
  const inside = (usage?.kinds ?? []).filter(
    ({ used, kind }) => Number(used) > 0 && kind !== 'registry_mebibytes',
  )
  const leave = () => {
    if (uid !== place.group) return closeDialog(place)
    const parent = uid.slice(0, Math.max(0, uid.lastIndexOf('/')))
    return navigate(parent === '' ? paths.home() : paths.groups(parent), { replace: true })
  }
  return (
    <ConfirmDelete
      place={place}
      kind="group"
      name={group?.name ?? ''}
      isRunning={isRunning.value}
      error={error.value}
      onConfirm={() => void run({ uid })}
    >
      {inside.length === 0 ? (
        <p>The group is empty. This cannot be undone.</p>
      ) : (
        <>
          <p>Only an empty group can be deleted. In and below this group there are:</p>
          <ul>
            {inside.map(({ kind, used }) => (
              <li key={kind}>
                {Number(used).toLocaleString('en')} {kind?.replaceAll('_', ' ')}
              </li>
            ))}
          </ul>
        </>
      )}
    </ConfirmDelete>
  )
}
