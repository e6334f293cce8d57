import { api } from '../../api/api.ts'
import { read, useRead } from '../../api/read.ts'
import { updateMask } from '../../api/update-mask.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { Form, Problem } from '../../ui/form.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { GroupFields } from './create.tsx'

/** Changes name and description of the group in the query parameter `about`, or else of the group of the page. */
export function EditGroup({ place }: PageProps) {
  const uid = place.query.get('about') ?? place.group
  const { data: group, error: readError } = useRead(read(api.groups.getGroup, { uid }))
  const { run, isRunning, error } = useWrite(api.groups.updateGroup, {
    ...{ done: 'Group changed', after: () => closeDialog(place) },
  })
  const change = (values: FormData) => {
    const changed = { uid, name: String(values.get('name')), description: String(values.get('description')) }
    const mask = updateMask(group ?? {}, changed, ['name', 'description'])
    void run({ group: changed, updateMask: mask })
  }
  return (
    <Dialog place={place} title="Rename or describe">
      {readError && <Problem error={readError} />}
      {!group && !readError && <Skeleton />}
      {group && (
        <Form
          submit="Save"
          isRunning={isRunning.value}
          error={error.value}
          onSubmit={change}
          onCancel={() => void closeDialog(place)}
        >
          <GroupFields error={error.value} name={group.name ?? ''} description={group.description ?? ''} />
        </Form>
      )}
    </Dialog>
  )
}
