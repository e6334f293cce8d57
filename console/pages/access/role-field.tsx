import type { Signal } from '@preact/signals'
import type { RoleJson } from '@stemma/api/json/platform/iam/v2beta1/role'
import { Select } from '../../ui/field.tsx'

export type RoleFieldProps = {
  roles: readonly RoleJson[]
  problem: string | undefined
  /** Gets the uid of the chosen role, if the page shows something that depends on it. */
  chosen?: Signal<string>
}

export const RoleField = ({ roles, problem, chosen }: RoleFieldProps) => (
  <Select
    label="Role"
    name="role"
    required
    options={[
      { value: '', label: 'Choose a role' },
      ...roles.map(({ uid = '', name = '' }) => ({ value: uid, label: name })),
    ]}
    problem={problem}
    {...(chosen && {
      value: chosen.value,
      onChange: (event) => {
        chosen.value = event.currentTarget.value
      },
    })}
  />
)
