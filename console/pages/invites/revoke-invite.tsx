import { api } from '../../api/api.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { closeDialog } from '../../ui/dialog.tsx'

/** Deletes the invite in the query parameter `about`. */
export function RevokeInvite({ place }: PageProps) {
  const { run, isRunning, error } = useWrite(api.groupInvites.deleteGroupInvite, {
    done: 'Invite revoked',
    after: () => closeDialog(place),
  })
  const revoke = async () => {
    await run({ uid: place.query.get('about') ?? '' })
  }
  return (
    <ConfirmDelete
      place={place}
      verb="Revoke"
      kind="invite"
      isRunning={isRunning.value}
      error={error.value}
      onConfirm={revoke}
    >
      <p>Its link stops working. People who have accepted it keep their roles.</p>
    </ConfirmDelete>
  )
}
