import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { read, useData } from '../../api/read.ts'
import { readRoles, rolesFor } from '../../api/roles.ts'
import { parentOf } from '../../api/uids.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { GroupField, useGroupChoice } from '../access/group-field.tsx'
import { RoleField } from '../access/role-field.tsx'

export const readGroupOf = (provider: string) => read(api.groups.getGroup, { uid: parentOf(provider) })

/** Gives the members of an external group a role in the group that contains the provider, or in a group below it. */
export function CreateMapping({ place, provider }: PageProps & { provider: string }) {
  const group = parentOf(provider)
  const { group: scope, choose } = useGroupChoice(group)
  const { roles = [] } = useData(readRoles(place.group))
  const { run, isRunning, error } = useWrite(api.externalGroupRoleMappings.createExternalGroupRoleMapping, {
    ...{ done: 'Group mapped', also: ['roleBindings'], after: () => closeDialog(place) },
  })
  const create = (values: FormData) => {
    const text = (name: string) => String(values.get(name))
    void run({
      parent: provider,
      externalGroupRoleMapping: {
        ...{ externalGroupId: text('group'), roleUid: text('role'), scope: text('scope') },
      },
    })
  }
  return (
    <Dialog place={place} title="Map a group to a role">
      <Form
        submit="Map group"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={create}
        onCancel={() => void closeDialog(place)}
      >
        <TextField
          label="Group at the provider"
          name="group"
          required
          maxLength={256}
          hint="Exactly as the provider sends it: a name, a path or, with Entra, an object id."
          problem={violationOf(error.value, 'external_group_id')}
        />
        <GroupField
          name="scope"
          root={group}
          group={scope ?? { value: group, label: group }}
          problem={violationOf(error.value, 'scope')}
          onChoose={choose}
        />
        <RoleField
          roles={rolesFor(scope?.value ?? group, roles)}
          problem={violationOf(error.value, 'role_uid')}
        />
      </Form>
    </Dialog>
  )
}
