import { api } from '../../api/api.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { Form } from '../../ui/form.tsx'
import { NameFields } from '../../ui/name-fields.tsx'

/** Creates a group below the one in the query parameter `about`, or else below the group of the page. */
export function CreateGroup({ place }: PageProps) {
  const parent = place.query.get('about') ?? place.group
  const { run, isRunning, error } = useWrite(api.groups.createGroup, {
    ...{ done: 'Group created', after: () => closeDialog(place) },
  })
  const create = (values: FormData) => {
    const [name, description] = [String(values.get('name')), String(values.get('description'))]
    void run({ parent, group: { name, description } })
  }
  return (
    <Dialog place={place} title="New group">
      <Form
        submit="Create group"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={create}
        onCancel={() => void closeDialog(place)}
      >
        <GroupFields error={error.value} />
      </Form>
    </Dialog>
  )
}

type GroupFieldsProps = { error: unknown; name?: string; description?: string }

export const GroupFields = (props: GroupFieldsProps) => (
  <NameFields {...props} hint="Lowercase letters, digits, spaces, dots, underscores and dashes." />
)
