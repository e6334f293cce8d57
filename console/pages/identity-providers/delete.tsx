import type { IdentityProviderJson } from '@stemma/api/json/platform/iam/v2beta1/identity_provider'
import { api } from '../../api/api.ts'
import { useWrite } from '../../api/write.ts'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../router/route.ts'
import { navigate } from '../../router/router.ts'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'

export function DeleteProvider({ place, provider }: PageProps & { provider: IdentityProviderJson }) {
  const { run, isRunning, error } = useWrite(api.identityProviders.deleteIdentityProvider, {
    ...{ done: 'Identity provider deleted', also: ['externalGroupRoleMappings', 'roleBindings'] },
    after: () => navigate(paths.identityProviders(place.group), { replace: true }),
  })
  return (
    <ConfirmDelete
      place={place}
      kind="identity provider"
      name={provider.name ?? ''}
      mustTypeName
      isRunning={isRunning.value}
      error={error.value}
      onConfirm={() => void run({ uid: provider.uid ?? '' })}
    >
      <p>
        Nobody can sign in through it any more. Its external group role mappings, SCIM users and SCIM groups
        are deleted too. People who have signed in keep the roles that are bound to them. This cannot be
        undone.
      </p>
    </ConfirmDelete>
  )
}
