import { api } from '../../api/api.ts'
import { readPermissions, useDenial } from '../../api/permissions.ts'
import { read, useData } from '../../api/read.ts'
import { parentOf } from '../../api/uids.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { navigate } from '../../router/router.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { CodeBlock, PageCommands, serverUrl } from '../../ui/code-block.tsx'
import { Uid } from '../../ui/copy.tsx'
import { dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Properties } from '../../ui/properties.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { workloadOf } from '../new-identity/workloads.ts'
import { DeleteIdentity } from './delete.tsx'
import { EditIdentity } from './edit.tsx'
import { recognitionOf } from './recognition.ts'
import { TokenTester } from './token-tester.tsx'

const readIdentity = ({ uids }: Place) => read(api.identities.getIdentity, { uid: uids.identity ?? '' })
const readReach = (place: Place) =>
  read(api.access.listReach, { identity: place.uids.identity ?? '', group: place.group, ...pageOf(place) })

/** The group of the identity, which may be below the opened one. For people, who have none, the opened group. */
const groupIn = ({ uids, group }: Place) => parentOf(uids.identity ?? '') || group

export const load = (place: Place) => [
  ...[readIdentity(place), readReach(place), readPermissions(groupIn(place))],
]

export default function Identity({ place }: PageProps) {
  const identity = useData(readIdentity(place))
  const { entries = [], nextPageToken, totalCount } = useData(readReach(place))
  const denial = useDenial(groupIn(place))
  const workload = workloadOf(identity)
  const denialHere = useDenial(place.group)
  const { uid = '', name, description, claimMatch, staticKeys, createTime, lastSeenTime } = identity
  return (
    <>
      <PageHeader
        title={name}
        about={description || 'Workload identity'}
        actions={
          <>
            <ButtonLink to={`${paths.why(place.group)}?${new URLSearchParams({ identity: uid })}`}>
              Why
            </ButtonLink>
            <ButtonLink to={dialogPath(place, 'edit')} disabledReason={denial('identity.update')}>
              Change identity
            </ButtonLink>
            <ButtonLink to={dialogPath(place, 'delete')} disabledReason={denial('identity.delete')}>
              Delete
            </ButtonLink>
          </>
        }
      />
      <section class="panel">
        <h2>Properties</h2>
        <Properties
          rows={[
            ['Uid', <Uid key="uid" uid={uid} />],
            ['Recognised by', recognitionOf(identity)],
            ['Issuer', claimMatch?.issuer || claimMatch?.issuerPattern || staticKeys?.issuer],
            ['Subject', claimMatch?.subject || claimMatch?.subjectPattern || staticKeys?.subject],
            ['Audience', claimMatch?.audience || claimMatch?.audiencePattern],
            ['Keys expire', staticKeys?.expirationTime && <Time at={staticKeys.expirationTime} />],
            ['Created', <Time key="created" at={createTime} />],
            ['Last seen', <Time key="seen" at={lastSeenTime} />],
          ]}
        />
      </section>
      {workload && parentOf(uid) !== '' && (
        <section class="panel">
          <h2>{workload.snippetTitle}</h2>
          <CodeBlock label="snippet" code={workload.snippet({ server: serverUrl(), identity: uid })} />
        </section>
      )}
      <section class="panel flush">
        <div class="panel-header inset">
          <h2>Roles in this group and below</h2>
          <ButtonLink
            to={`${paths.access(place.group)}?${new URLSearchParams({ identity: uid, dialog: 'add' })}`}
            icon="plus"
            disabledReason={denialHere('role_bindings.create')}
          >
            Add role
          </ButtonLink>
        </div>
        {entries.length === 0 ? (
          <Empty icon="access" title="No roles here">
            Without a role, the identity can get a token but may do nothing here.
          </Empty>
        ) : (
          <Table
            label="Roles"
            rows={entries}
            uidOf={({ roleBindingUid = '' }) => roleBindingUid}
            nameOf={({ role }) => role?.name ?? ''}
            columns={[
              {
                title: 'Role',
                cell: ({ role }) =>
                  role?.uid ? <Link to={paths.role(place.group, role.uid)}>{role.name}</Link> : 'hidden',
              },
              {
                title: 'Group',
                cell: ({ group }) => (
                  <Link to={paths.group(group?.uid ?? '')}>{group?.name || group?.uid}</Link>
                ),
              },
              { title: 'Expires', cell: ({ expireTime }) => <Time at={expireTime} /> },
            ]}
          />
        )}
      </section>
      <Pager place={place} nextPageToken={nextPageToken} total={totalCount} shown={entries.length} />
      {(claimMatch || staticKeys) && (
        <section class="panel">
          <h2>Test a token</h2>
          <TokenTester identity={identity} />
        </section>
      )}
      <PageCommands
        stemma={`stemma identities get ${uid}`}
        curl={{ path: `/iam/v2beta1/identities/${uid}` }}
      />
      {isDialogOpen(place, 'edit') && <EditIdentity place={place} identity={identity} />}
      {isDialogOpen(place, 'delete') && (
        <DeleteIdentity
          place={place}
          identity={identity}
          after={() => navigate(paths.identities(place.group), { replace: true })}
        />
      )}
    </>
  )
}
