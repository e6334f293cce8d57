import type { AccessEntryJson } from '@stemma/api/json/platform/iam/v2beta1/access'
import { api } from '../../api/api.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { closeDialog } from '../../ui/dialog.tsx'

/** Removes the role binding in the query parameter `about`. */
export function RemoveBinding({ place, entry }: PageProps & { entry: AccessEntryJson | undefined }) {
  const { run, isRunning, error } = useWrite(api.roleBindings.deleteRoleBinding, {
    ...{ done: 'Access removed', after: () => closeDialog(place) },
  })
  const { identity, role } = entry ?? {}
  return (
    <ConfirmDelete
      place={place}
      verb="Remove"
      kind="role binding"
      name={role?.name ?? ''}
      isRunning={isRunning.value}
      error={error.value}
      onConfirm={() => void run({ uid: place.query.get('about') ?? '' })}
    >
      <p>
        <strong dir="auto">{identity?.name || identity?.email || 'The identity'}</strong> loses this role here
        and in everything below, with their next call.
      </p>
    </ConfirmDelete>
  )
}
