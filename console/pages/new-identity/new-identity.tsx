// Sets up a workload: how it is recognised, and its role.
import { useSignal } from '@preact/signals'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { useDenial } from '../../api/permissions.ts'
import { useData } from '../../api/read.ts'
import { readRoles, roleOptions, rolesFor } from '../../api/roles.ts'
import { useWrite } from '../../api/write.ts'
import { paths } from '../../paths.ts'
import type { PageProps, Place } from '../../router/route.ts'
import { navigate, withQuery } from '../../router/router.ts'
import { PageCommands } from '../../ui/code-block.tsx'
import { quote } from '../../ui/commands.ts'
import { Select, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import type { Workload } from './workloads.ts'
import { workloads } from './workloads.ts'

export const load = (place: Place) => [readRoles(place.group)]

export default function NewIdentity({ place }: PageProps) {
  const kind = place.query.get('kind') ?? 'github'
  const workload = (Object.hasOwn(workloads, kind) ? workloads[kind] : workloads.github) as Workload
  return (
    <>
      <PageHeader
        title="New workload"
        about="A program proves who it is with the tokens of its own platform, so there is no secret to store."
      />
      <Tabs
        label="Platform"
        tabs={Object.entries(workloads).map(([id, { name }]) => ({
          ...{ label: name, to: withQuery(place, { kind: id }), isCurrent: workloads[id] === workload },
        }))}
      />
      <SetUp key={`${place.group} ${kind}`} place={place} workload={workload} />
      <ExampleCommands place={place} workload={workload} />
    </>
  )
}

type SetUpProps = { place: Place; workload: Workload }

/** Creates the identity and its role binding, then opens the page of the identity. */
function SetUp({ place, workload }: SetUpProps) {
  const { roles = [] } = useData(readRoles(place.group))
  const denial = useDenial(place.group)
  const identities = useWrite(api.identities.createIdentity, { done: 'Workload created' })
  const bindings = useWrite(api.roleBindings.createRoleBinding)
  const error = identities.error.value ?? bindings.error.value
  const createdUid = useSignal('')
  const isCreated = createdUid.value !== ''
  const create = async (values: FormData) => {
    const text = (name: string) => String(values.get(name) ?? '').trim()
    const answers = Object.fromEntries(workload.fields.map(({ name }) => [name, text(name)]))
    // A second attempt after the binding failed must not create a second identity.
    if (createdUid.value === '') {
      const identity = { name: text('name'), ...workload.recognition(answers) }
      createdUid.value = (await identities.run({ parent: place.group, identity }))?.uid ?? ''
      if (createdUid.value === '') return
    }
    const roleUid = text('group-role')
    const roleBinding = { identityUid: createdUid.value, roleUid }
    if (roleUid === '' || (await bindings.run({ parent: place.group, roleBinding })))
      await navigate(paths.identity(place.group, createdUid.value), { replace: true })
  }
  return (
    <section class="panel">
      <Form
        submit={isCreated ? 'Continue' : 'Create workload'}
        isRunning={identities.isRunning.value || bindings.isRunning.value}
        error={error}
        disabledReason={denial('identity.create')}
        onSubmit={create}
      >
        <TextField
          label="Name"
          name="name"
          required
          disabled={isCreated}
          maxLength={255}
          hint="Lowercase letters, digits, spaces, dots, underscores and dashes."
          problem={violationOf(error, 'name')}
        />
        {workload.fields.map(({ name, label, hint, example, isOptional }) => (
          <TextField
            key={name}
            label={label}
            name={name}
            hint={hint}
            placeholder={example}
            required={!isOptional}
            disabled={isCreated}
            problem={name === 'name' ? undefined : violationOf(error, name)}
          />
        ))}
        <Select
          label="Role in this group"
          name="group-role" // AWS has a field `role`
          options={[{ value: '', label: 'none yet' }, ...roleOptions(rolesFor(place.group, roles))]}
        />
        {isCreated && bindings.error.value !== undefined && (
          <p>
            The workload was created, but it has no role yet. You can change its other fields on its page.
          </p>
        )}
      </Form>
    </section>
  )
}

/** The commands that create an identity with the example values of the fields. */
function ExampleCommands({ place, workload }: SetUpProps) {
  const values = Object.fromEntries(workload.fields.map(({ name, example }) => [name, example]))
  const recognition = workload.recognition(values)
  const flags = Object.entries(recognition).flatMap(([kind, fields]) =>
    Object.entries(fields).map(([name, value]) => `--${kebab(kind)}.${kebab(name)} ${quote(String(value))}`),
  )
  return (
    <PageCommands
      stemma={['stemma identities create', `--parent ${place.group}`, '--name ci', ...flags].join(' ')}
      curl={{
        ...{ verb: 'POST', path: `/iam/v2beta1/identities/${place.group}` },
        body: { name: 'ci', ...recognition },
      }}
    />
  )
}

const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
