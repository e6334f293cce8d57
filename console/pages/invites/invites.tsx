// Invites, and requests of people who want access.
import type { GroupAccessRequestJson } from '@stemma/api/json/platform/iam/v2beta1/group_access_request'
import type { GroupInviteJson } from '@stemma/api/json/platform/iam/v2beta1/group_invite'
import { api } from '../../api/api.ts'
import { useDenial, useDenialIn } from '../../api/permissions.ts'
import { read, useData } from '../../api/read.ts'
import { readRoles } from '../../api/roles.ts'
import { parentOf } from '../../api/uids.ts'
import { paths } from '../../paths.ts'
import type { PageProps, Place } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { ChangeInvite } from './change-invite.tsx'
import { ApproveRequest, DeclineRequest } from './decide-request.tsx'
import { RevokeInvite } from './revoke-invite.tsx'

const readInvites = (place: Place) =>
  read(api.groupInvites.listGroupInvites, { uidp: { descendantsOf: place.group }, ...pageOf(place) })
/** Requests are few, so one page of the largest size is enough. */
const readRequests = (place: Place) =>
  read(api.groupAccessRequests.listGroupAccessRequests, {
    uidp: { descendantsOf: place.group },
    pageSize: 200,
  })

export const load = (place: Place) => [readInvites(place), readRequests(place), readRoles(place.group)]

const actionCapabilities = ['group_invites.create', 'group_invites.delete', 'role_bindings.create'] as const

/** Why the person may not do something with an invite or a request in a group. */
type DenialIn = (group: string, capability: (typeof actionCapabilities)[number]) => string | undefined

export default function Invites({ place }: PageProps) {
  const { groupInvites = [], nextPageToken, totalCount } = useData(readInvites(place))
  const { groupAccessRequests = [] } = useData(readRequests(place))
  const denial = useDenial(place.group)
  const denialIn = useDenialIn(
    place.group,
    [...groupInvites, ...groupAccessRequests].map(({ uid = '' }) => parentOf(uid)),
    actionCapabilities,
  )
  return (
    <>
      <PageHeader
        title="Invites and requests"
        about="An invite is a link that gives a person a role. A request comes from a person who wants access."
        actions={
          <ButtonLink
            to={`${paths.access(place.group)}?dialog=add&who=invite`}
            tone="primary"
            icon="plus"
            disabledReason={denial('group_invites.create', 'role_bindings.create')}
          >
            Invite a person
          </ButtonLink>
        }
      />
      <Requests place={place} requests={groupAccessRequests} denialIn={denialIn} />
      <OpenInvites place={place} invites={groupInvites} denialIn={denialIn} />
      <Pager place={place} nextPageToken={nextPageToken} total={totalCount} shown={groupInvites.length} />
      <PageCommands
        stemma={`stemma group-invites list --descendants-of ${place.group}`}
        curl={{ path: `/iam/v2beta1/groupInvites?uidp.descendants_of=${place.group}` }}
      />
      {isDialogOpen(place, 'change') && <ChangeInvite place={place} />}
      {isDialogOpen(place, 'revoke') && <RevokeInvite place={place} />}
      {isDialogOpen(place, 'decline') && <DeclineRequest place={place} />}
      {isDialogOpen(place, 'approve') && <ApproveRequest place={place} />}
    </>
  )
}

type RequestsProps = PageProps & { requests: readonly GroupAccessRequestJson[]; denialIn: DenialIn }

const Requests = ({ place, requests, denialIn }: RequestsProps) => (
  <section class="panel flush">
    <h2>Requests</h2>
    {requests.length === 0 ? (
      <Empty icon="access" title="No requests">
        People whose e-mail address belongs to the verified domain of the organization can ask for access.
      </Empty>
    ) : (
      <Table
        label="Requests"
        rows={requests}
        uidOf={({ uid = '' }) => uid}
        nameOf={({ identity }) => identity?.name ?? ''}
        columns={[
          { title: 'Who', cell: ({ identity }) => identity?.name || identity?.email || identity?.uid },
          { title: 'Asked', cell: ({ createTime }) => <Time at={createTime} /> },
        ]}
        actions={({ uid = '' }) => [
          {
            label: 'Approve',
            to: dialogPath(place, 'approve', uid),
            disabledReason:
              denialIn(parentOf(uid), 'group_invites.create') ??
              denialIn(parentOf(uid), 'role_bindings.create'),
          },
          {
            label: 'Decline',
            to: dialogPath(place, 'decline', uid),
            disabledReason: denialIn(parentOf(uid), 'group_invites.delete'),
            isDanger: true,
          },
        ]}
      />
    )}
  </section>
)

type OpenInvitesProps = PageProps & { invites: readonly GroupInviteJson[]; denialIn: DenialIn }

const OpenInvites = ({ place, invites, denialIn }: OpenInvitesProps) => (
  <section class="panel flush">
    <h2>Invites</h2>
    {invites.length === 0 ? (
      <Empty icon="invite" title="No open invites">
        Invite a person, and send them the link.
      </Empty>
    ) : (
      <Table
        label="Invites"
        rows={invites}
        uidOf={({ uid = '' }) => uid}
        nameOf={({ email, keyId }) => email || keyId || ''}
        columns={[
          { title: 'For', cell: ({ email }) => email || <span class="quiet">anyone with the link</span> },
          { title: 'Role', cell: ({ role }) => role?.name },
          {
            title: 'Expires',
            cell: ({ expirationTime }) => <Time at={expirationTime} />,
          },
          {
            title: 'Use',
            cell: ({ singleUse }) =>
              singleUse ? <Badge>once</Badge> : <Badge tone="warning">several times</Badge>,
            isSecondary: true,
          },
        ]}
        actions={({ uid = '' }) => [
          {
            label: 'Change role and expiry',
            to: dialogPath(place, 'change', uid),
            disabledReason:
              denialIn(parentOf(uid), 'group_invites.create') ??
              denialIn(parentOf(uid), 'role_bindings.create'),
          },
          {
            label: 'Revoke',
            to: dialogPath(place, 'revoke', uid),
            disabledReason: denialIn(parentOf(uid), 'group_invites.delete'),
            isDanger: true,
          },
        ]}
      />
    )}
  </section>
)
