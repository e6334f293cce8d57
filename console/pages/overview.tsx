import { api } from '../api/api.ts'
import { read, useData } from '../api/read.ts'
import { paths } from '../paths.ts'
import { Link } from '../router/link.tsx'
import type { PageProps, Place } from '../router/route.ts'
import { Badge } from '../ui/badge.tsx'
import { ButtonLink } from '../ui/button.tsx'
import { SameWith } from '../ui/code-block.tsx'
import { Uid } from '../ui/copy.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { Properties } from '../ui/properties.tsx'
import { Time } from '../ui/time.tsx'

const readGroup = ({ group }: Place) => read(api.groups.getGroup, { uid: group })
const readUsage = ({ group }: Place) => read(api.groups.getGroupUsage, { uid: group })

export const load = (place: Place) => [readGroup(place), readUsage(place)]

/** Kinds that the overview counts, in this order, with the page that lists them. */
const counted: [kind: string, label: string, to?: (group: string) => string][] = [
  ['groups', 'Groups', paths.groups],
  ['identities', 'Identities', paths.identities],
  ['role_bindings', 'Role bindings'],
  ['roles', 'Custom roles'],
  ['repos', 'Repos'],
  ['tags', 'Tags'],
  ['advisories', 'Advisories'],
]

export default function Overview({ place }: PageProps) {
  const { name, description, createTime, updateTime, verified, uid = '' } = useData(readGroup(place))
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
      <ul class="counts">
        {counted.map(([kind, label, to]) => {
          const { used = '0', limit } = kinds.find((entry) => entry.kind === kind) ?? {}
          const content = (
            <>
              <span class="number">{Number(used).toLocaleString('en')}</span>
              <span class="quiet">{label}</span>
              {limit !== undefined && (
                <span class="quiet small">of at most {limit.toLocaleString('en')}</span>
              )}
            </>
          )
          return <li key={kind}>{to ? <Link to={to(uid)}>{content}</Link> : <div>{content}</div>}</li>
        })}
      </ul>
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
      <SameWith stemma={`stemma groups usage ${uid}`} curl={{ path: `/iam/v2beta1/groups/${uid}:usage` }} />
    </>
  )
}
