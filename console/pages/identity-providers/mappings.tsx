// The external group role mappings of an identity provider: which of its groups have which role, and where.
import type { RoleJson } from '@stemma/api/json/platform/iam/v2beta1/role'
import { api } from '../../api/api.ts'
import { useDenial } from '../../api/permissions.ts'
import { read, useData, useRead } from '../../api/read.ts'
import { parentOf } from '../../api/uids.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { CreateMapping } from './create-mapping.tsx'
import { RemoveMapping, RemoveMappings } from './remove-mappings.tsx'

export const readMappings = (place: Place) =>
  read(api.externalGroupRoleMappings.listExternalGroupRoleMappings, {
    ...{ identityProviderUid: place.uids.provider ?? '', ...pageOf(place) },
  })

/** The group that the provider is in. It may be below the group of the page. */
export const groupOfProvider = ({ uids }: Place) => parentOf(uids.provider ?? '')

type MappingsProps = PageProps & { provider: string; roles: readonly RoleJson[] }

export function Mappings({ place, provider, roles }: MappingsProps) {
  const { externalGroupRoleMappings: mappings = [], ...page } = useData(readMappings(place))
  const denial = useDenial(groupOfProvider(place))
  const ids = [...new Set(mappings.map(({ scope = '' }) => scope))]
  const { data } = useRead(read(api.groups.listGroups, { uidp: { ids }, pageSize: 200 }), ids.length > 0)
  const groupName = (uid = '') => data?.groups?.find((group) => group.uid === uid)?.name ?? uid
  const roleName = (uid = '') => roles.find((role) => role.uid === uid)?.name ?? uid
  const about = mappings.find(({ uid }) => uid === place.query.get('about'))
  return (
    <>
      <section class="panel flush">
        <div class="panel-header inset">
          <h2>Roles of external groups</h2>
          <div class="actions">
            {mappings.length > 1 && (
              <ButtonLink
                to={dialogPath(place, 'unmap-several')}
                disabledReason={denial('identity_providers.delete')}
              >
                Remove several
              </ButtonLink>
            )}
            <ButtonLink
              to={dialogPath(place, 'map')}
              icon="plus"
              disabledReason={denial('identity_providers.create') ?? denial('role_bindings.create')}
            >
              Map a group
            </ButtonLink>
          </div>
        </div>
        {mappings.length === 0 ? (
          <Empty icon="role" title="No group has a role">
            Members of a group at the provider can get a role, in addition to the default role. The provider
            names the groups of a person in a claim or by SCIM.
          </Empty>
        ) : (
          <Table
            label="External group role mappings"
            rows={mappings}
            uidOf={({ uid = '' }) => uid}
            nameOf={({ externalGroupId = '' }) => externalGroupId}
            columns={[
              { title: 'External group', cell: ({ externalGroupId }) => externalGroupId },
              {
                title: 'Role',
                cell: ({ roleUid = '' }) => (
                  <Link to={paths.role(place.group, roleUid)}>{roleName(roleUid)}</Link>
                ),
              },
              {
                title: 'In',
                cell: ({ scope = '' }) => <Link to={paths.access(scope)}>{groupName(scope)}</Link>,
              },
              { title: 'Created', cell: ({ createTime }) => <Time at={createTime} />, isSecondary: true },
            ]}
            actions={({ uid = '' }) => [
              {
                label: 'Remove',
                to: dialogPath(place, 'unmap', uid),
                disabledReason: denial('identity_providers.delete'),
                isDanger: true,
              },
            ]}
          />
        )}
      </section>
      <Pager
        place={place}
        nextPageToken={page.nextPageToken}
        total={page.totalCount}
        shown={mappings.length}
      />
      {isDialogOpen(place, 'map') && <CreateMapping place={place} provider={provider} />}
      {isDialogOpen(place, 'unmap') && about && <RemoveMapping place={place} mapping={about} />}
      {isDialogOpen(place, 'unmap-several') && (
        <RemoveMappings
          place={place}
          provider={provider}
          mappings={mappings.map(({ uid = '', externalGroupId, roleUid, scope }) => ({
            uid,
            label: `${externalGroupId}: ${roleName(roleUid)} in ${groupName(scope)}`,
          }))}
        />
      )}
    </>
  )
}
