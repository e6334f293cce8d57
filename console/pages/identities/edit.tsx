import type { IdentityJson } from '@stemma/api/json/platform/iam/v2beta1/identity'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { updateMask } from '../../api/update-mask.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { NameFields } from '../../ui/name-fields.tsx'

/** Changes the name and the description of an identity and, if it has claim rules, these rules. */
export function EditIdentity({ place, identity }: PageProps & { identity: IdentityJson }) {
  const { claimMatch } = identity
  const { run, isRunning, error } = useWrite(api.identities.updateIdentity, {
    done: 'Identity changed',
    after: () => closeDialog(place),
  })
  const change = async (values: FormData) => {
    const text = (name: string) => String(values.get(name) ?? '').trim()
    const changed: IdentityJson = {
      ...{ uid: identity.uid ?? '', name: text('name'), description: text('description') },
      ...(claimMatch && { claimMatch: { ...claimMatch, ...rulesOf(text) } }),
    }
    const mask = updateMask(identity, changed, ['name', 'description', 'claimMatch'])
    await run({ identity: changed, updateMask: mask })
  }
  return (
    <Dialog place={place} title="Change identity">
      <Form
        submit="Save"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={change}
        onCancel={() => void closeDialog(place)}
      >
        <NameFields error={error.value} name={identity.name} description={identity.description} />
        {claimMatch &&
          ruleFields.map(([name, label, hint]) => (
            <TextField
              key={name}
              label={label}
              name={name}
              hint={hint}
              maxLength={1024}
              defaultValue={claimMatch[name]}
              problem={violationOf(error.value, name)}
            />
          ))}
      </Form>
    </Dialog>
  )
}

const ruleFields = [
  ['issuer', 'Issuer', 'An https URL. Either this or a pattern.'],
  ['issuerPattern', 'Issuer pattern', ''],
  ['subject', 'Subject', 'The claim sub. Either this or a pattern.'],
  ['subjectPattern', 'Subject pattern', 'An RE2 expression that must match the whole claim.'],
  ['audience', 'Audience', 'Empty: the URL of this server.'],
  ['audiencePattern', 'Audience pattern', ''],
] as const

/** Empty fields become unset, because only one of a value and its pattern may be set. */
function rulesOf(text: (name: string) => string) {
  return Object.fromEntries(ruleFields.map(([name]) => [name, text(name) || undefined]))
}
