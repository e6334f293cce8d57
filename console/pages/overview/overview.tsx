// The first page of a group: counts, access requests, expiring invites, activity, and next steps.
import type { GroupUsageJson, KindUsageJson } from '@stemma/api/json/platform/iam/v2beta1/group'
import { api } from '../../api/api.ts'
import { read, useData } from '../../api/read.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { Uid } from '../../ui/copy.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Properties } from '../../ui/properties.tsx'
import { Time } from '../../ui/time.tsx'
import { AwaitingDecision } from './awaiting-decision.tsx'
import { NextSteps } from './next-steps.tsx'
import { RecentActivity } from './recent-activity.tsx'

const readGroup = ({ group }: Place) => read(api.groups.getGroup, { uid: group })
const readUsage = ({ group }: Place) => read(api.groups.getGroupUsage, { uid: group })

export const load = (place: Place) => [readGroup(place), readUsage(place)]

/** Kinds that the overview counts, in this order, with the page that lists them. */
const counted: [kind: string, label: string, to: (group: string) => string][] = [
  ['groups', 'Groups', paths.groups],
  ['identities', 'Workloads', paths.identities],
  ['role_bindings', 'Role bindings', paths.access],
  ['roles', 'Custom roles', paths.roles],
  ['repos', 'Repos', paths.repos],
  ['tags', 'Tags', paths.repos],
  ['advisories', 'Advisories', paths.advisories],
]

export default function Overview({ place }: PageProps) {
  const { name = '', description, createTime, updateTime, verified, uid = '' } = useData(readGroup(place))
  const { kinds = [] } = useData(readUsage(place))
  const isOrganization = !uid.includes('/')
  return (
    <>
      <PageHeader
        title={name}
        about={description || (isOrganization ? 'Organization' : 'Group')}
        actions={
          <ButtonLink to={paths.groups(uid)} icon="tree">
            Open the tree
          </ButtonLink>
        }
      />
      {isOrganization && <NextSteps place={place} name={name} kinds={kinds} />}
      <Counts group={uid} kinds={kinds} />
      <div class="columns">
        <RecentActivity place={place} />
        <div>
          <AwaitingDecision place={place} />
          <section class="panel">
            <h2>Properties</h2>
            <Properties
              rows={[
                ['Uid', <Uid key="uid" uid={uid} />],
                ['Description', description],
                [
                  'Domain',
                  isOrganization &&
                    (verified ? <Badge tone="good">verified</Badge> : <Badge>not verified</Badge>),
                ],
                ['Created', <Time key="created" at={createTime} />],
                ['Changed', <Time key="changed" at={updateTime} />],
              ]}
            />
          </section>
        </div>
      </div>
      <PageCommands
        stemma={`stemma groups usage ${uid}`}
        curl={{ path: `/iam/v2beta1/groups/${uid}:usage` }}
      />
    </>
  )
}

/** The limit of a group above also counts resources of other groups, so the number of this group says little about it. */
function limitText({ limit, limitGroupUid, available = '0' }: KindUsageJson, group: string): string {
  if (limit === undefined) return ''
  return limitGroupUid === group
    ? `of at most ${limit.toLocaleString('en')}`
    : `at most ${Number(available).toLocaleString('en')} more`
}

type CountsProps = { group: string; kinds: NonNullable<GroupUsageJson['kinds']> }

const Counts = ({ group, kinds }: CountsProps) => (
  <ul class="counts">
    {counted.map(([kind, label, to]) => {
      const { used = '0', ...usage } = kinds.find((entry) => entry.kind === kind) ?? {}
      const limit = limitText(usage, group)
      return (
        <li key={kind}>
          <Link to={to(group)}>
            <span class="number">{Number(used).toLocaleString('en')}</span>
            <span class="quiet">{label}</span>
            {limit && <span class="quiet small">{limit}</span>}
          </Link>
        </li>
      )
    })}
  </ul>
)
