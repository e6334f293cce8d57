// Usage and limits of an organization, for operators of the server.
import type { KindUsageJson } from '@stemma/api/json/platform/iam/v2beta1/group'
import { api } from '../../api/api.ts'
import { read, useData } from '../../api/read.ts'
import { paths } from '../../paths.ts'
import type { PageProps, Place } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { Uid } from '../../ui/copy.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Properties } from '../../ui/properties.tsx'
import { Time } from '../../ui/time.tsx'
import { UsageTable } from '../usage/usage-table.tsx'

const uidOf = ({ uids }: Place) => uids.organization ?? ''

const readOrganization = (place: Place) => read(api.organizations.getOrganization, { uid: uidOf(place) })

export const load = (place: Place) => [readOrganization(place)]

/** No group is above an organization, so a limit is its own or the default of the server. */
const ownLimitsOf = (kinds: readonly KindUsageJson[]) =>
  Object.fromEntries(
    kinds.flatMap(({ kind = '', limit, defaultLimit }) =>
      limit === undefined || defaultLimit ? [] : [[kind, limit]],
    ),
  )

export default function Organization({ place }: PageProps) {
  const { name, description, verified, createTime, kinds = [] } = useData(readOrganization(place))
  const uid = uidOf(place)
  return (
    <>
      <PageHeader
        title={name}
        about={description}
        actions={<ButtonLink to={paths.serverOrganizations()}>All organizations</ButtonLink>}
      />
      <section class="panel">
        <Properties
          rows={[
            ['Uid', <Uid key="uid" uid={uid} />],
            ['Domain', verified && <Badge tone="good">verified</Badge>],
            ['Created', <Time key="created" at={createTime} />],
          ]}
        />
      </section>
      <UsageTable
        {...{ place, kinds }}
        ownLimits={ownLimitsOf(kinds)}
        title="Usage and limits"
        group={uid}
        setLimits={api.organizations.setOrganizationLimits}
      />
      <PageCommands
        stemma={`stemma organizations get ${uid}`}
        curl={{ path: `/server/v2beta1/organizations/${uid}` }}
      />
    </>
  )
}
