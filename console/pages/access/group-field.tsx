// The group in which a role is given: the opened group, or one below it.
import { useSignal } from '@preact/signals'
import { api } from '../../api/api.ts'
import { findGroups } from '../../api/find-groups.ts'
import { read, useRead } from '../../api/read.ts'
import { Combobox } from '../../ui/combobox.tsx'
import type { Option } from '../../ui/suggestions.ts'

/** `group` is undefined until the name of the root is known. */
export function useGroupChoice(root: string) {
  const { data, isPending } = useRead(read(api.groups.getGroup, { uid: root }))
  const chosen = useSignal<Option | undefined>(undefined)
  const own = isPending ? undefined : { value: root, label: data?.name ?? root }
  return {
    group: chosen.value ?? own,
    choose: (option: Option | undefined) => {
      chosen.value = option
    },
  }
}

export type GroupFieldProps = {
  name: string
  root: string
  /** The group that is chosen at first. */
  group: Option
  problem: string | undefined
  onChoose(option: Option | undefined): void
}

export const GroupField = ({ name, root, group, problem, onChoose }: GroupFieldProps) => (
  <Combobox
    label="In the group"
    name={name}
    required
    hint="The role also applies to everything below."
    chosen={group}
    find={findGroups(root)}
    problem={problem}
    onChoose={onChoose}
  />
)
