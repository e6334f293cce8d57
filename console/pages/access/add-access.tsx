// Gives a person or a workload a role in the group, or invites somebody who has no access yet.
import { useSignal } from '@preact/signals'
import { api } from '../../api/api.ts'
import { capabilityName } from '../../api/capabilities.ts'
import { violationOf } from '../../api/error-text.ts'
import { findIdentities } from '../../api/find-identities.ts'
import { read, useRead } from '../../api/read.ts'
import { readRoles, rolesFor } from '../../api/roles.ts'
import { useWrite } from '../../api/write.ts'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../router/route.ts'
import { withQuery } from '../../router/router.ts'
import { ButtonLink } from '../../ui/button.tsx'
import type { Option } from '../../ui/combobox.tsx'
import { Combobox } from '../../ui/combobox.tsx'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { Select, TextField } from '../../ui/field.tsx'
import { Form, Problem } from '../../ui/form.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { ExpiryField, expiryOf } from './expiry.tsx'
import { InvitePerson } from './invite-person.tsx'
import { RolePreview } from './role-preview.tsx'

export function AddAccess({ place }: PageProps) {
  const isInvite = place.query.get('who') === 'invite'
  return (
    <Dialog place={place} title="Add access">
      <Tabs
        label="Who"
        tabs={[
          { label: 'Somebody known', to: withQuery(place, { who: undefined }), isCurrent: !isInvite },
          { label: 'Invite a person', to: withQuery(place, { who: 'invite' }), isCurrent: isInvite },
        ]}
      />
      {isInvite ? <InvitePerson place={place} /> : <BindKnown place={place} />}
    </Dialog>
  )
}

function BindKnown({ place }: PageProps) {
  const { data, error: readError } = useRead(readRoles())
  const { data: group } = useRead(read(api.groups.getGroup, { uid: place.group }))
  const who = useSignal<Option | undefined>(undefined)
  const roleUid = useSignal('')
  const { run, isRunning, error } = useWrite(api.roleBindings.createRoleBinding, { done: 'Access added' })
  if (readError) return <Problem error={readError} />
  if (!data) return <Skeleton />
  const roles = rolesFor(place.group, data.roles ?? [])
  const role = roles.find(({ uid }) => uid === roleUid.value)
  const add = async (values: FormData) => {
    const expireTime = expiryOf(values)
    const roleBinding = {
      ...{ identityUid: String(values.get('identity')), roleUid: roleUid.value },
      ...{ reason: String(values.get('reason')), ...(expireTime && { expireTime }) },
    }
    if (await run({ parent: place.group, roleBinding })) await closeDialog(place)
  }
  return (
    <Form
      submit="Add access"
      isRunning={isRunning.value}
      error={error.value}
      onSubmit={add}
      onCancel={() => void closeDialog(place)}
    >
      <Combobox
        label="Person or workload"
        name="identity"
        required
        find={findIdentities(place.group)}
        problem={violationOf(error.value, 'identity_uid')}
        onChoose={(option) => {
          who.value = option
        }}
      />
      <p class="hint">
        A program that is not in the list?{' '}
        <ButtonLink to={paths.newIdentity(place.group)}>Set up a workload</ButtonLink>
      </p>
      <Select
        label="Role"
        name="role"
        required
        value={roleUid.value}
        options={[
          { value: '', label: 'Choose a role' },
          ...roles.map(({ uid = '', name = '' }) => ({ value: uid, label: name })),
        ]}
        problem={violationOf(error.value, 'role_uid')}
        onChange={(event) => {
          roleUid.value = event.currentTarget.value
        }}
      />
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
          group={place.group}
          groupName={group?.name ?? 'this group'}
          identity={who.value}
          role={{ uid: role.uid ?? '', name: role.name ?? '' }}
          capabilities={(role.capabilities ?? []).map((capability) => capabilityName(String(capability)))}
        />
      )}
    </Form>
  )
}
