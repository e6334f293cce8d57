// The identity providers of a group and of the groups below it, through which people sign in.
import { api } from '../../api/api.ts'
import { useDenial, useDenialIn } from '../../api/permissions.ts'
import { read, useData } from '../../api/read.ts'
import { readRoles } from '../../api/roles.ts'
import { parentOf } from '../../api/uids.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { DeleteProvider } from './delete.tsx'
import { CreateProvider } from './provider-form.tsx'

const readProviders = (place: Place) =>
  read(api.identityProviders.listIdentityProviders, {
    ...{ uidp: { descendantsOf: place.group }, orderBy: 'name', ...pageOf(place) },
  })

export const load = (place: Place) => [readProviders(place), readRoles(place.group)]

export default function IdentityProviders({ place }: PageProps) {
  const { identityProviders = [], nextPageToken, totalCount } = useData(readProviders(place))
  const { roles = [] } = useData(readRoles(place.group))
  const denial = useDenial(place.group)
  const denialIn = useDenialIn(
    place.group,
    identityProviders.map(({ uid = '' }) => parentOf(uid)),
    ['identity_providers.delete'],
  )
  const about = identityProviders.find(({ uid }) => uid === place.query.get('about'))
  const create = (
    <ButtonLink
      to={dialogPath(place, 'create')}
      tone="primary"
      icon="plus"
      disabledReason={denial('identity_providers.create') ?? denial('role_bindings.create')}
    >
      New identity provider
    </ButtonLink>
  )
  return (
    <>
      <PageHeader
        title="Identity providers"
        about="People sign in with the accounts of their organization. An identity provider can also create and deactivate people, and its groups can have roles."
        actions={create}
      />
      {identityProviders.length === 0 ? (
        <Empty icon="provider" title="No identity provider">
          Without one, people have an account with a password on this server. Connect Okta, Entra ID, Google
          Workspace, Keycloak or any other OpenID Connect provider.
        </Empty>
      ) : (
        <section class="panel flush">
          <Table
            label="Identity providers"
            rows={identityProviders}
            uidOf={({ uid = '' }) => uid}
            nameOf={({ name = '' }) => name}
            columns={[
              {
                title: 'Name',
                cell: ({ uid = '', name }) => (
                  <Link to={paths.identityProvider(place.group, uid)}>{name}</Link>
                ),
              },
              { title: 'Issuer', cell: ({ oidc }) => oidc?.issuer },
              {
                title: 'Default role',
                cell: ({ defaultRole }) => roles.find(({ uid }) => uid === defaultRole)?.name ?? 'hidden',
                isSecondary: true,
              },
              { title: 'Created', cell: ({ createTime }) => <Time at={createTime} />, isSecondary: true },
            ]}
            actions={({ uid = '' }) => [
              {
                label: 'Delete',
                to: dialogPath(place, 'delete', uid),
                disabledReason: denialIn(parentOf(uid), 'identity_providers.delete'),
                isDanger: true,
              },
            ]}
          />
        </section>
      )}
      <Pager
        place={place}
        nextPageToken={nextPageToken}
        total={totalCount}
        shown={identityProviders.length}
      />
      <PageCommands
        stemma={`stemma identity-providers list --descendants-of ${place.group}`}
        curl={{ path: `/iam/v2beta1/identityProviders?uidp.descendants_of=${place.group}` }}
      />
      {isDialogOpen(place, 'create') && <CreateProvider place={place} />}
      {isDialogOpen(place, 'delete') && about && <DeleteProvider place={place} provider={about} />}
    </>
  )
}
