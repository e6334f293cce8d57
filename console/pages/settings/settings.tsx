// The settings of a group: its name and description, the accepted terms and, for an organization, how people sign in.
import { api } from '../../api/api.ts'
import { useDenial } from '../../api/permissions.ts'
import { read, useData } from '../../api/read.ts'
import { updateMask } from '../../api/update-mask.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps, Place } from '../../router/route.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Form } from '../../ui/form.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { GroupFields } from '../groups/create.tsx'
import { DeleteGroup } from '../groups/delete.tsx'
import { SignInSettings } from './sign-in.tsx'
import { Terms } from './terms.tsx'

const readGroup = ({ group }: Place) => read(api.groups.getGroup, { uid: group })

export const load = (place: Place) => [readGroup(place)]

export default function Settings({ place }: PageProps) {
  const { uid = '', name = '', description = '', secondFactorRequired = false } = useData(readGroup(place))
  const denial = useDenial(place.group)
  const updateDenial = denial('groups.update')
  const isOrganization = !uid.includes('/')
  const kind = isOrganization ? 'organization' : 'group'
  return (
    <>
      <PageHeader title="Settings" about={`Settings of the ${kind} ${name}.`} />
      <section class="panel narrow" key={uid}>
        <h2>Name and description</h2>
        <Texts uid={uid} name={name} description={description} disabledReason={updateDenial} />
      </section>
      {isOrganization && (
        <SignInSettings
          key={`${uid} ${secondFactorRequired}`}
          uid={uid}
          isRequired={secondFactorRequired}
          disabledReason={updateDenial}
        />
      )}
      <Terms place={place} />
      <section class="panel">
        <div class="panel-header">
          <div>
            <h2>Delete this {kind}</h2>
            <p class="quiet">Only an empty {kind} can be deleted. This cannot be undone.</p>
          </div>
          <div class="actions">
            <ButtonLink to={dialogPath(place, 'delete')} disabledReason={denial('groups.delete')}>
              Delete {kind}
            </ButtonLink>
          </div>
        </div>
      </section>
      <PageCommands stemma={`stemma groups get ${uid}`} curl={{ path: `/iam/v2beta1/groups/${uid}` }} />
      {isDialogOpen(place, 'delete') && <DeleteGroup place={place} />}
    </>
  )
}

type TextsProps = { uid: string; name: string; description: string; disabledReason: string | undefined }

function Texts({ uid, name, description, disabledReason }: TextsProps) {
  const { run, isRunning, error } = useWrite(api.groups.updateGroup, { done: 'Settings saved' })
  const save = (values: FormData) => {
    const texts = { name: String(values.get('name')), description: String(values.get('description')) }
    const mask = updateMask({ name, description }, texts, ['name', 'description'])
    void run({ group: { uid, ...texts }, updateMask: mask })
  }
  return (
    <Form
      submit="Save"
      isRunning={isRunning.value}
      error={error.value}
      disabledReason={disabledReason}
      onSubmit={save}
    >
      <GroupFields error={error.value} name={name} description={description} />
    </Form>
  )
}
