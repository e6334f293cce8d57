import type { IdentityJson } from '@stemma/api/json/platform/iam/v2beta1/identity'
import { api } from '../../api/api.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'

type DeleteIdentityProps = PageProps & { identity: IdentityJson; after(): unknown }

export function DeleteIdentity({ place, identity, after }: DeleteIdentityProps) {
  const { run, isRunning, error } = useWrite(api.identities.deleteIdentity, {
    ...{ done: 'Identity deleted', also: ['roleBindings'], after },
  })
  return (
    <ConfirmDelete
      place={place}
      kind="identity"
      name={identity.name ?? ''}
      isRunning={isRunning.value}
      error={error.value}
      onConfirm={() => void run({ uid: identity.uid ?? '' })}
    >
      <p>Its tokens stop working at once. This cannot be undone.</p>
    </ConfirmDelete>
  )
}
