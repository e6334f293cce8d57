// Gives people and workloads a role in the group, or invites somebody who has no access yet.
import { useSignal } from '@preact/signals'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { read, useRead } from '../../api/read.ts'
import { readRoles, rolesFor } from '../../api/roles.ts'
import { useWrite } from '../../api/write.ts'
import { paths } from '../../paths.ts'
import type { PageProps, Place } from '../../router/route.ts'
import { navigate, withQuery } from '../../router/router.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form, Problem } from '../../ui/form.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import type { Option } from '../../ui/suggestions.ts'
import { Tabs } from '../../ui/tabs.tsx'
import { ExpiryField, expiryOf } from './expiry.tsx'
import { GroupField, useGroupChoice } from './group-field.tsx'
import { IdentitiesField } from './identities-field.tsx'
import { InvitePerson } from './invite-person.tsx'
import { RoleField } from './role-field.tsx'
import { RolePreview } from './role-preview.tsx'

export function AddAccess({ place }: PageProps) {
  const isInvite = place.query.get('who') === 'invite'
  return (
    <Dialog place={place} title="Add access">
      <Tabs
        label="Who"
        tabs={[
          {
            label: 'Existing person or workload',
            to: withQuery(place, { who: undefined }),
            isCurrent: !isInvite,
          },
          { label: 'Invite a person', to: withQuery(place, { who: 'invite' }), isCurrent: isInvite },
        ]}
      />
      {isInvite ? <InvitePerson place={place} /> : <BindExisting place={place} />}
    </Dialog>
  )
}

function BindExisting({ place }: PageProps) {
  const { data, error: readError } = useRead(readRoles(place.group))
  const { group, choose } = useGroupChoice(place.group)
  const preset = usePreset(place)
  const choice = useSignal<readonly Option[] | undefined>(undefined)
  const roleUid = useSignal('')
  const { run, isRunning, error } = useWrite(api.roleBindings.batchCreateRoleBindings, {
    ...{ done: 'Access added', after: () => showResult(place, group?.value) },
  })
  if (!data && readError) return <Problem error={readError} />
  if (!data || !group || preset === undefined) return <Skeleton />
  const chosen = choice.value ?? preset
  const roles = rolesFor(group.value, data.roles ?? [])
  const role = roles.find(({ uid }) => uid === roleUid.value)
  const add = (values: FormData) => {
    const expireTime = expiryOf(values)
    const terms = { reason: String(values.get('reason')), ...(expireTime && { expireTime }) }
    const requests = chosen.map(({ value }) => ({ roleBinding: { identityUid: value, ...terms } }))
    void run({ parent: group.value, roleUid: roleUid.value, requests })
  }
  const [only, ...others] = chosen
  return (
    <Form
      submit="Add access"
      isRunning={isRunning.value}
      error={error.value}
      onSubmit={add}
      onCancel={() => void closeDialog(place)}
    >
      <IdentitiesField
        root={place.group}
        chosen={chosen}
        problem={violationOf(error.value, 'identity_uid')}
        onChange={(options) => {
          choice.value = options
        }}
      />
      <p class="hint">
        A program that is not in the list?{' '}
        <ButtonLink to={paths.newIdentity(place.group)}>Set up a workload</ButtonLink>
      </p>
      <GroupField
        name="group"
        root={place.group}
        group={group}
        problem={violationOf(error.value, 'parent')}
        onChoose={choose}
      />
      <RoleField roles={roles} problem={violationOf(error.value, 'role_uid')} chosen={roleUid} />
      <ExpiryField problem={violationOf(error.value, 'expire_time')} />
      <TextField
        label="Reason"
        name="reason"
        maxLength={1000}
        hint="Optional. Shown with the access, and in the activity."
        problem={violationOf(error.value, 'reason')}
      />
      {role && (
        <RolePreview
          group={group}
          identity={others.length === 0 ? only : undefined}
          count={chosen.length}
          role={role}
        />
      )}
    </Form>
  )
}

/** The workload by which the access list is filtered; empty without one. Undefined while its name is being read. */
function usePreset(place: Place): readonly Option[] | undefined {
  const uid = place.query.get('identity') ?? ''
  const isWorkload = uid.includes('/')
  const { data, isPending } = useRead(read(api.identities.getIdentity, { uid }), isWorkload)
  if (!isWorkload) return []
  return isPending ? undefined : [{ value: uid, label: data?.name ?? uid, detail: 'workload' }]
}

/** Shows the list of the chosen group: the list of a group above it does not show the new access. */
const showResult = (place: Place, group = place.group) =>
  group === place.group ? closeDialog(place) : navigate(paths.access(group), { replace: true })
