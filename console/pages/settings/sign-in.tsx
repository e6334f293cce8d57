// How the people of an organization sign in.
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { useWrite } from '../../api/write.ts'
import { Badge } from '../../ui/badge.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'

type SignInSettingsProps = { uid: string; isRequired: boolean; disabledReason: string | undefined }

export function SignInSettings({ uid, isRequired, disabledReason }: SignInSettingsProps) {
  const { run, isRunning, error } = useWrite(api.groups.updateGroup, {
    ...{ done: 'Settings saved', also: ['account'] },
  })
  const save = (values: FormData) =>
    void run({
      group: { uid, secondFactorRequired: values.has('secondFactor') },
      updateMask: 'second_factor_required',
    })
  return (
    <section class="panel narrow">
      <h2>Sign-in {isRequired && <Badge tone="good">second factor required</Badge>}</h2>
      <Form
        submit="Save"
        isRunning={isRunning.value}
        error={error.value}
        disabledReason={disabledReason}
        onSubmit={save}
      >
        <Checkbox
          label="Require a second factor"
          name="secondFactor"
          defaultChecked={isRequired}
          hint="Everybody with a password and a role in this organization needs a passkey or an authenticator app. Sessions without it, also yours, end within the hour, and the next sign-in asks for it or sets it up. People who sign in through an identity provider are not affected: their provider decides."
        />
        {violationOf(error.value, 'second_factor_required') && (
          <p class="field-problem">{violationOf(error.value, 'second_factor_required')}</p>
        )}
      </Form>
    </section>
  )
}
