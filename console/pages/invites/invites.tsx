// Invites that nobody has accepted yet, and requests of people who want access.
import { api } from '../../api/api.ts'
import { useDenial } from '../../api/permissions.ts'
import { read, useData } from '../../api/read.ts'
import { readRoles, rolesFor } from '../../api/roles.ts'
import { useWrite } from '../../api/write.ts'
import { paths } from '../../paths.ts'
import type { PageProps, Place } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { SameWith } from '../../ui/code-block.tsx'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { closeDialog, Dialog, dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Select } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'

const readInvites = (place: Place) =>
  read(api.groupInvites.listGroupInvites, { uidp: { descendantsOf: place.group }, ...pageOf(place) })
/** Requests are few; the most that the API returns at once is enough. */
const readRequests = (place: Place) =>
  read(api.groupAccessRequests.listGroupAccessRequests, {
    uidp: { descendantsOf: place.group },
    pageSize: 200,
  })

export const load = (place: Place) => [readInvites(place), readRequests(place), readRoles()]

export default function Invites({ place }: PageProps) {
  const { groupInvites = [], nextPageToken, totalCount } = useData(readInvites(place))
  const { groupAccessRequests = [] } = useData(readRequests(place))
  const denial = useDenial(place.group)
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
            disabledReason={denial('group_invites.create')}
          >
            Invite a person
          </ButtonLink>
        }
      />
      <section class="panel flush">
        <h2>Requests</h2>
        {groupAccessRequests.length === 0 ? (
          <Empty icon="access" title="No requests">
            People of your identity provider who have no role can ask for access when they sign in.
          </Empty>
        ) : (
          <Table
            label="Requests"
            rows={groupAccessRequests}
            uidOf={({ uid = '' }) => uid}
            nameOf={({ identity }) => identity?.name ?? ''}
            columns={[
              { title: 'Who', cell: ({ identity }) => identity?.name || identity?.email || identity?.uid },
              { title: 'Asked', cell: ({ createTime }) => <Time at={createTime} /> },
            ]}
            actions={({ uid }) => [
              {
                label: 'Approve',
                to: dialogPath(place, 'approve', uid),
                disabledReason: denial('role_bindings.create'),
              },
              { label: 'Deny', to: dialogPath(place, 'deny', uid), isDanger: true },
            ]}
          />
        )}
      </section>
      <section class="panel flush">
        <h2>Invites</h2>
        {groupInvites.length === 0 ? (
          <Empty icon="invite" title="No open invites">
            Invite a person, and send them the link.
          </Empty>
        ) : (
          <Table
            label="Invites"
            rows={groupInvites}
            uidOf={({ uid = '' }) => uid}
            nameOf={({ email, keyId }) => email || keyId || ''}
            columns={[
              { title: 'For', cell: ({ email }) => email || <span class="quiet">whoever has the link</span> },
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
            actions={({ uid }) => [
              {
                label: 'Revoke',
                to: dialogPath(place, 'revoke', uid),
                disabledReason: denial('group_invites.delete'),
                isDanger: true,
              },
            ]}
          />
        )}
      </section>
      <Pager place={place} nextPageToken={nextPageToken} total={totalCount} shown={groupInvites.length} />
      <SameWith
        stemma={`stemma group-invites list --descendants-of ${place.group}`}
        curl={{ path: `/iam/v2beta1/groupInvites?uidp.descendants_of=${place.group}` }}
      />
      {isDialogOpen(place, 'revoke') && <RevokeInvite place={place} />}
      {isDialogOpen(place, 'deny') && <DenyRequest place={place} />}
      {isDialogOpen(place, 'approve') && <ApproveRequest place={place} />}
    </>
  )
}

function RevokeInvite({ place }: PageProps) {
  const { run, isRunning, error } = useWrite(api.groupInvites.deleteGroupInvite, { done: 'Invite revoked' })
  const revoke = async () => {
    if (await run({ uid: place.query.get('about') ?? '' })) await closeDialog(place)
  }
  return (
    <ConfirmDelete
      place={place}
      kind="invite"
      name=""
      isRunning={isRunning.value}
      error={error.value}
      onConfirm={revoke}
    >
      <p>Its link stops working. People who have accepted it keep their roles.</p>
    </ConfirmDelete>
  )
}

function DenyRequest({ place }: PageProps) {
  const { run, isRunning, error } = useWrite(api.groupAccessRequests.deleteGroupAccessRequest, {
    done: 'Request denied',
  })
  const deny = async () => {
    if (await run({ uid: place.query.get('about') ?? '' })) await closeDialog(place)
  }
  return (
    <ConfirmDelete
      place={place}
      kind="request"
      name=""
      isRunning={isRunning.value}
      error={error.value}
      onConfirm={deny}
    >
      <p>The person gets no access, and can ask again.</p>
    </ConfirmDelete>
  )
}

function ApproveRequest({ place }: PageProps) {
  const { roles = [] } = useData(readRoles())
  const { run, isRunning, error } = useWrite(api.groupAccessRequests.approveGroupAccessRequest, {
    ...{ done: 'Access granted', also: ['roleBindings'] },
  })
  const approve = async (values: FormData) => {
    const request = { uid: place.query.get('about') ?? '', roleUid: String(values.get('role')) }
    if (await run(request)) await closeDialog(place)
  }
  return (
    <Dialog place={place} title="Approve the request">
      <Form
        submit="Grant access"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={approve}
        onCancel={() => void closeDialog(place)}
      >
        <Select
          label="Role"
          name="role"
          required
          options={rolesFor(place.group, roles).map(({ uid = '', name = '' }) => ({
            value: uid,
            label: name,
          }))}
        />
      </Form>
    </Dialog>
  )
}
