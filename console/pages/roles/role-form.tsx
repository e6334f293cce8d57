// The form of a role: its capabilities as checkboxes, grouped by what they are about.
import { useSignal } from '@preact/signals'
import type { CapabilityJson } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type { RoleJson } from '@stemma/api/json/platform/iam/v2beta1/role'
import { api } from '../../api/api.ts'
import { actionOf, capabilityInJson, capabilityName, groupCapabilities } from '../../api/capabilities.ts'
import { updateMask } from '../../api/update-mask.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { Select } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { NameFields } from '../../ui/name-fields.tsx'

type RoleDialogProps = PageProps & { roles: readonly RoleJson[] }

export function CreateRole({ place, roles }: RoleDialogProps) {
  const { run, isRunning, error } = useWrite(api.roles.createRole, {
    done: 'Role created',
    after: () => closeDialog(place),
  })
  const create = async (values: FormData) => {
    await run({ parent: place.group, role: roleOf(values) })
  }
  return (
    <RoleDialog
      {...{ place, roles, title: 'New role', submit: 'Create role' }}
      isRunning={isRunning.value}
      error={error.value}
      onSubmit={create}
    />
  )
}

export function EditRole({ place, roles, role }: RoleDialogProps & { role: RoleJson }) {
  const { run, isRunning, error } = useWrite(api.roles.updateRole, {
    done: 'Role changed',
    after: () => closeDialog(place),
  })
  // The first value is kept: the checkboxes do not change if the role is loaded again.
  const loaded = useSignal(role).value
  const change = async (values: FormData) => {
    const changed = { uid: loaded.uid ?? '', ...roleOf(values) }
    const before = { ...loaded, capabilities: loaded.capabilities?.toSorted() ?? [] }
    const mask = updateMask<RoleJson>(before, changed, ['name', 'description', 'capabilities'])
    await run({ role: changed, updateMask: mask })
  }
  return (
    <RoleDialog
      {...{ place, roles, role: loaded, title: 'Change role', submit: 'Save' }}
      isRunning={isRunning.value}
      error={error.value}
      onSubmit={change}
    />
  )
}

function roleOf(values: FormData) {
  const capabilities = values
    .getAll('capability')
    .map((name) => capabilityInJson(String(name)) as CapabilityJson) // the names that the form offers
    .sort()
  return { name: String(values.get('name')), description: String(values.get('description')), capabilities }
}

type FormProps = RoleDialogProps & {
  title: string
  submit: string
  role?: RoleJson
  isRunning: boolean
  error: unknown
  onSubmit(values: FormData): void
}

function RoleDialog({ place, roles, role, title, submit, isRunning, error, onSubmit }: FormProps) {
  const held = useSignal(new Set(namesOf(role)))
  const all = [...new Set(roles.flatMap(namesOf))]
  const toggle = (names: readonly string[], isOn: boolean) => {
    const next = new Set(held.value)
    for (const name of names) {
      if (isOn) next.add(name)
      else next.delete(name)
    }
    held.value = next
  }
  return (
    <Dialog place={place} title={title} isWide>
      <Form
        submit={submit}
        isRunning={isRunning}
        error={error}
        onSubmit={onSubmit}
        onCancel={() => void closeDialog(place)}
      >
        <NameFields error={error} name={role?.name} description={role?.description} />
        <Select
          label="Begin with the capabilities of"
          name="template"
          options={[
            { value: '', label: 'no other role' },
            ...roles.map(({ uid = '', name = '' }) => ({ value: uid, label: name })),
          ]}
          onChange={(event) => {
            const chosen = roles.find(({ uid }) => uid === event.currentTarget.value)
            if (chosen) held.value = new Set(namesOf(chosen))
          }}
        />
        <p class="hint" aria-live="polite">
          {held.value.size} of {all.length} capabilities
        </p>
        <div class="capability-groups">
          {[...groupCapabilities(all)].map(([about, names]) => (
            <fieldset key={about}>
              <legend>
                <label>
                  <input
                    type="checkbox"
                    checked={names.every((name) => held.value.has(name))}
                    onChange={(event) => toggle(names, event.currentTarget.checked)}
                  />{' '}
                  {about}
                </label>
              </legend>
              {names.map((name) => (
                <label key={name}>
                  <input
                    type="checkbox"
                    name="capability"
                    value={name}
                    checked={held.value.has(name)}
                    onChange={(event) => toggle([name], event.currentTarget.checked)}
                  />{' '}
                  {actionOf(name)}
                </label>
              ))}
            </fieldset>
          ))}
        </div>
      </Form>
    </Dialog>
  )
}

export const namesOf = (role: RoleJson | undefined): string[] =>
  (role?.capabilities ?? []).map((capability) => capabilityName(String(capability)))
