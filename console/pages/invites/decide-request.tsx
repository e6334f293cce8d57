// Dialogs that approve or decline the request for access in the query parameter `about`.
import type { GroupAccessRequestJson } from '@stemma/api/json/platform/iam/v2beta1/group_access_request'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { read, useData, useRead } from '../../api/read.ts'
import { readRoles, roleOptions, rolesFor } from '../../api/roles.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps, Place } from '../../router/route.ts'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { Select } from '../../ui/field.tsx'
import { Form, Problem } from '../../ui/form.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Time } from '../../ui/time.tsx'

const uidIn = ({ query }: Place) => query.get('about') ?? ''

const useRequest = (place: Place) =>
  useRead(read(api.groupAccessRequests.getGroupAccessRequest, { uid: uidIn(place) }))

const requesterOf = ({ identity }: GroupAccessRequestJson) =>
  identity?.name || identity?.email || identity?.uid

/** The name of the person, and the address if it is not the name. */
function Requester({ request }: { request: GroupAccessRequestJson }) {
  const [name, email] = [requesterOf(request), request.identity?.email]
  return (
    <>
      <strong dir="auto">{name}</strong>
      {email && email !== name && <span dir="auto"> ({email})</span>}
    </>
  )
}

export function ApproveRequest({ place }: PageProps) {
  const { roles = [] } = useData(readRoles(place.group))
  const { data: request, error: readError } = useRequest(place)
  const { run, isRunning, error } = useWrite(api.groupAccessRequests.approveGroupAccessRequest, {
    ...{ done: 'Access granted', also: ['roleBindings'], after: () => closeDialog(place) },
  })
  return (
    <Dialog place={place} title="Approve the request">
      {readError && <Problem error={readError} />}
      {!request && !readError && <Skeleton />}
      {request && (
        <Form
          submit="Grant access"
          isRunning={isRunning.value}
          error={error.value}
          onSubmit={(values) => void run({ uid: uidIn(place), roleUid: String(values.get('role')) })}
          onCancel={() => void closeDialog(place)}
        >
          <p>
            <Requester request={request} /> asked <Time at={request.createTime} />.
          </p>
          <Select
            label="Role"
            name="role"
            required
            defaultValue={rolesFor(place.group, roles).find(({ name }) => name === 'viewer')?.uid}
            options={roleOptions(rolesFor(place.group, roles))}
            problem={violationOf(error.value, 'role_uid')}
          />
        </Form>
      )}
    </Dialog>
  )
}

export function DeclineRequest({ place }: PageProps) {
  const { data: request } = useRequest(place)
  const { run, isRunning, error } = useWrite(api.groupAccessRequests.deleteGroupAccessRequest, {
    ...{ done: 'Request declined', after: () => closeDialog(place) },
  })
  return (
    <Dialog place={place} title="Decline the request">
      <Form
        submit="Decline request"
        tone="danger"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={() => void run({ uid: uidIn(place) })}
        onCancel={() => void closeDialog(place)}
      >
        <p>
          {request ? <strong dir="auto">{requesterOf(request)}</strong> : 'The person'} gets no access, and
          can ask again.
        </p>
      </Form>
    </Dialog>
  )
}
