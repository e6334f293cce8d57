// Invites a person to the group. The link is shown once.
import { useSignal } from '@preact/signals'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { useDenial } from '../../api/permissions.ts'
import { useRead } from '../../api/read.ts'
import { readRoles, rolesFor } from '../../api/roles.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { closeDialog } from '../../ui/dialog.tsx'
import { Checkbox, Select, TextField } from '../../ui/field.tsx'
import { Form, Problem } from '../../ui/form.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { GroupField, useGroupChoice } from './group-field.tsx'
import { RoleField } from './role-field.tsx'
import { RolePreview } from './role-preview.tsx'

const day = 86_400
export const lifetimes = [
  { value: `${day}s`, label: 'A day' },
  { value: `${7 * day}s`, label: 'A week' },
  { value: `${30 * day}s`, label: '30 days' },
]

export function InvitePerson({ place }: PageProps) {
  const { data, error: readError } = useRead(readRoles(place.group))
  const denial = useDenial(place.group)
  const { group, choose } = useGroupChoice(place.group)
  const roleUid = useSignal('')
  const url = useSignal('')
  const { run, isRunning, error } = useWrite(api.groupInvites.createGroupInvite, { done: 'Invite created' })
  if (!data && readError) return <Problem error={readError} />
  if (!data || !group) return <Skeleton />
  const roles = rolesFor(group.value, data.roles ?? [])
  const role = roles.find(({ uid }) => uid === roleUid.value)
  const invite = async (values: FormData) => {
    const text = (name: string) => String(values.get(name) ?? '')
    const created = await run({
      parent: group.value,
      groupInvite: {
        ...{ roleUid: roleUid.value, email: text('email'), ttl: text('ttl') },
        singleUse: values.get('single-use') !== null,
      },
    })
    url.value = created?.url ?? ''
  }
  if (url.value !== '')
    return (
      <div class="form">
        <p>Send this link to the person. It is not shown again.</p>
        <CodeBlock label="link of the invite" code={url.value} />
        <footer>
          <Button tone="primary" onClick={() => void closeDialog(place)}>
            Done
          </Button>
        </footer>
      </div>
    )
  return (
    <Form
      submit="Create invite"
      isRunning={isRunning.value}
      error={error.value}
      disabledReason={denial('group_invites.create', 'role_bindings.create')}
      onSubmit={invite}
      onCancel={() => void closeDialog(place)}
    >
      <TextField
        label="E-mail address"
        name="email"
        type="email"
        hint="Optional. If set, only this person can accept the invite."
        problem={violationOf(error.value, 'email')}
      />
      <GroupField
        name="group"
        root={place.group}
        group={group}
        problem={violationOf(error.value, 'parent')}
        onChoose={choose}
      />
      <RoleField roles={roles} problem={violationOf(error.value, 'role_uid')} chosen={roleUid} />
      <Select label="Valid for" name="ttl" options={lifetimes} problem={violationOf(error.value, 'ttl')} />
      <Checkbox label="Can be used only once" name="single-use" defaultChecked />
      {role && <RolePreview group={group} identity={undefined} count={0} role={role} />}
    </Form>
  )
}
