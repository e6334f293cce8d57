import { useSignal } from '@preact/signals'
import type { ExternalGroupRoleMappingJson } from '@stemma/api/json/platform/iam/v2beta1/external_group_role_mapping'
import { api } from '../../api/api.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'

type RemoveMappingProps = PageProps & { mapping: ExternalGroupRoleMappingJson }

export function RemoveMapping({ place, mapping }: RemoveMappingProps) {
  const { run, isRunning, error } = useWrite(api.externalGroupRoleMappings.deleteExternalGroupRoleMapping, {
    ...{ done: 'Mapping removed', also: ['roleBindings'], after: () => closeDialog(place) },
  })
  return (
    <ConfirmDelete
      place={place}
      verb="Remove"
      kind="mapping"
      name={`of ${mapping.externalGroupId ?? ''}`}
      isRunning={isRunning.value}
      error={error.value}
      onConfirm={() => void run({ uid: mapping.uid ?? '' })}
    >
      <p>The members of the group lose the role with their next call.</p>
    </ConfirmDelete>
  )
}

type RemoveMappingsProps = PageProps & {
  provider: string
  mappings: readonly { uid: string; label: string }[]
}

/** Removes the ticked mappings in one call, which deletes all of them or none. */
export function RemoveMappings({ place, provider, mappings }: RemoveMappingsProps) {
  const ticked = useSignal<ReadonlySet<string>>(new Set())
  const { run, isRunning, error } = useWrite(
    api.externalGroupRoleMappings.batchDeleteExternalGroupRoleMappings,
    { ...{ done: 'Mappings removed', also: ['roleBindings'], after: () => closeDialog(place) } },
  )
  const tick = (uid: string, isTicked: boolean) => {
    const others = [...ticked.value].filter((other) => other !== uid)
    ticked.value = new Set(isTicked ? [...others, uid] : others)
  }
  const { size } = ticked.value
  return (
    <Dialog place={place} title="Remove several mappings">
      <Form
        submit={size > 0 ? `Remove ${size}` : 'Remove'}
        tone="danger"
        isRunning={isRunning.value}
        error={error.value}
        disabledReason={size === 0 ? 'Tick the mappings to remove.' : undefined}
        onSubmit={() => void run({ parent: provider, names: [...ticked.value] })}
        onCancel={() => void closeDialog(place)}
      >
        <p>The members of these groups lose the roles with their next call.</p>
        {mappings.map(({ uid, label }) => (
          <Checkbox
            key={uid}
            name={uid}
            label={label}
            checked={ticked.value.has(uid)}
            onChange={(event) => tick(uid, event.currentTarget.checked)}
          />
        ))}
      </Form>
    </Dialog>
  )
}
