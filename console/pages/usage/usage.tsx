// How much a group contains, and the limits that apply to it.
import { api } from '../../api/api.ts'
import { read, useData } from '../../api/read.ts'
import { parentOf } from '../../api/uids.ts'
import type { PageProps, Place } from '../../router/route.ts'
import { PageCommands } from '../../ui/code-block.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { UsageTable } from './usage-table.tsx'

const readUsage = ({ group }: Place) => read(api.groups.getGroupUsage, { uid: group })

const readGroup = ({ group }: Place) => read(api.groups.getGroup, { uid: group })

const setGroupLimits = 'platform.iam.v2beta1.GroupsService.SetGroupLimits'

const readMaySetLimits = ({ group }: Place) =>
  read(api.access.checkAccess, { method: setGroupLimits, resource: group })

export const load = (place: Place) => [readUsage(place), readGroup(place), readMaySetLimits(place)]

const reasonOf = (group: string) =>
  parentOf(group) === ''
    ? 'Only operators of the server can set limits of an organization.'
    : 'You need the capability groups.update in the group above, so that nobody can raise their own limits.'

export default function Usage({ place }: PageProps) {
  const { kinds = [] } = useData(readUsage(place))
  const { resourceLimits = {} } = useData(readGroup(place))
  const { allowed } = useData(readMaySetLimits(place))
  return (
    <>
      <PageHeader
        title="Usage"
        about="What this group and everything below it contain, and the limit that is reached first. Groups below can have lower limits, but not higher ones."
      />
      <UsageTable
        {...{ place, kinds }}
        group={place.group}
        ownLimits={resourceLimits}
        setLimits={api.groups.setGroupLimits}
        disabledReason={allowed ? undefined : reasonOf(place.group)}
      />
      <PageCommands
        stemma={`stemma groups usage ${place.group}`}
        curl={{ path: `/iam/v2beta1/groups/${place.group}:usage` }}
      />
    </>
  )
}
