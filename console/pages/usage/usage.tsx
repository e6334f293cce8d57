// How much a group contains, and the limits that apply to it.
import { api } from '../../api/api.ts'
import { useDenial } from '../../api/permissions.ts'
import { read, useData } from '../../api/read.ts'
import type { PageProps, Place } from '../../router/route.ts'
import { PageCommands } from '../../ui/code-block.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { UsageTable } from './usage-table.tsx'

const readUsage = ({ group }: Place) => read(api.groups.getGroupUsage, { uid: group })

export const load = (place: Place) => [readUsage(place)]

export default function Usage({ place }: PageProps) {
  const { kinds = [] } = useData(readUsage(place))
  const denial = useDenial(place.group)
  return (
    <>
      <PageHeader
        title="Usage"
        about="What this group and everything below it contain, and the limit that is reached first. Groups below can have lower limits, but not higher ones."
      />
      <UsageTable
        {...{ place, kinds }}
        group={place.group}
        setLimits={api.groups.setGroupLimits}
        disabledReason={denial('groups.update')}
      />
      <PageCommands
        stemma={`stemma groups usage ${place.group}`}
        curl={{ path: `/iam/v2beta1/groups/${place.group}:usage` }}
      />
    </>
  )
}
