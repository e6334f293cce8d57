// The identities in a group and below it.
import { api } from '../../api/api.ts'
import { useDenial, useDenialIn } from '../../api/permissions.ts'
import { read, useData } from '../../api/read.ts'
import { parentOf } from '../../api/uids.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { commandOf, pathOf } from '../../ui/commands.ts'
import { closeDialog, dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { byName, SearchFilter } from '../../ui/filter.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { DeleteIdentity } from './delete.tsx'
import { recognitionOf } from './recognition.ts'

const readIdentities = (place: Place) =>
  read(api.identities.listIdentities, {
    uidp: { descendantsOf: place.group },
    ...byName(place),
    ...pageOf(place),
  })

export const load = (place: Place) => [readIdentities(place)]

export default function Identities({ place }: PageProps) {
  const { identities = [], nextPageToken, totalCount } = useData(readIdentities(place))
  const denial = useDenial(place.group)
  const denialIn = useDenialIn(
    place.group,
    identities.map(({ uid = '' }) => parentOf(uid)),
    ['identity.delete'],
  )
  const about = identities.find(({ uid }) => uid === place.query.get('about'))
  return (
    <>
      <PageHeader
        title="Identities"
        about="Workloads that belong to this group or to groups below it. People belong to no group; their roles are on the page Access."
        actions={
          <ButtonLink
            to={paths.newIdentity(place.group)}
            tone="primary"
            icon="plus"
            disabledReason={denial('identity.create')}
          >
            New workload
          </ButtonLink>
        }
      />
      <div class="filters">
        <SearchFilter place={place} name="name" label="Search identities by name" />
      </div>
      {identities.length === 0 && place.query.has('name') ? (
        <Empty icon="search" title="No identity has such a name">
          Clear the search to see all identities.
        </Empty>
      ) : identities.length === 0 ? (
        <Empty icon="identity" title="No workloads here">
          An identity lets a program, such as a CI job, call the API with the tokens of its own issuer.
        </Empty>
      ) : (
        <section class="panel flush">
          <Table
            label="Identities"
            rows={identities}
            uidOf={({ uid = '' }) => uid}
            nameOf={({ name = '' }) => name}
            columns={[
              {
                title: 'Name',
                cell: ({ uid = '', name }) => <Link to={paths.identity(place.group, uid)}>{name}</Link>,
              },
              { title: 'Recognised by', cell: (identity) => recognitionOf(identity) },
              { title: 'Description', cell: ({ description }) => description, isSecondary: true },
              { title: 'Last seen', cell: ({ lastSeenTime }) => <Time at={lastSeenTime} /> },
            ]}
            actions={({ uid = '' }) => [
              {
                label: 'Delete',
                to: dialogPath(place, 'delete', uid),
                disabledReason: denialIn(parentOf(uid), 'identity.delete'),
                isDanger: true,
              },
            ]}
          />
        </section>
      )}
      <Pager place={place} nextPageToken={nextPageToken} total={totalCount} shown={identities.length} />
      <PageCommands
        stemma={commandOf('stemma identities list', { descendantsOf: place.group, ...byName(place) })}
        curl={{
          path: pathOf('/iam/v2beta1/identities', { 'uidp.descendantsOf': place.group, ...byName(place) }),
        }}
      />
      {isDialogOpen(place, 'delete') && about && (
        <DeleteIdentity place={place} identity={about} after={() => closeDialog(place)} />
      )}
    </>
  )
}
