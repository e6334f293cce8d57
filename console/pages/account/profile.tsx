// The description that people give of themselves. The operator of the server can read it; nothing depends on it.
import type { IdentityMetadataJson } from '@stemma/api/json/platform/iam/v2beta1/identity'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { read, useData } from '../../api/read.ts'
import { updateMask } from '../../api/update-mask.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { closeDialog, Dialog, dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Checkbox, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Properties } from '../../ui/properties.tsx'

/**
 * There is no call that only reads the description. The call that changes it also returns it, and
 * with `validateOnly` it changes nothing.
 */
export const readProfile = () =>
  read(api.identities.updateIdentityMetadata, { identityMetadata: {}, validateOnly: true })

export function Profile({ place }: PageProps) {
  const profile = useData(readProfile())
  const { company, jobTitle, product, updatesOptIn } = profile
  return (
    <section class="panel">
      <div class="panel-header">
        <h2>About you</h2>
        <div class="actions">
          <ButtonLink to={dialogPath(place, 'profile')}>Change</ButtonLink>
        </div>
      </div>
      {company || jobTitle || product || updatesOptIn ? (
        <Properties
          rows={[
            ['Company', company],
            ['Job title', jobTitle],
            ['Interested in', product],
            ['News', updatesOptIn && 'wanted'],
          ]}
        />
      ) : (
        <p class="quiet">Optional: your company, your job, and whether you want to be informed of news.</p>
      )}
      {isDialogOpen(place, 'profile') && <EditProfile place={place} profile={profile} />}
    </section>
  )
}

function EditProfile({ place, profile }: PageProps & { profile: IdentityMetadataJson }) {
  const { run, isRunning, error } = useWrite(api.identities.updateIdentityMetadata, {
    ...{ done: 'Saved', after: () => closeDialog(place) },
  })
  const save = (values: FormData) => {
    const text = (name: string) => String(values.get(name)).trim()
    const changed = {
      ...{ company: text('company'), jobTitle: text('jobTitle'), product: text('product') },
      updatesOptIn: values.has('news'),
    }
    const mask = updateMask(profile, changed, ['company', 'jobTitle', 'product', 'updatesOptIn'])
    void run({ identityMetadata: changed, updateMask: mask })
  }
  return (
    <Dialog place={place} title="About you">
      <Form
        submit="Save"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={save}
        onCancel={() => void closeDialog(place)}
      >
        <TextField
          label="Company"
          name="company"
          maxLength={255}
          autocomplete="organization"
          defaultValue={profile.company}
          problem={violationOf(error.value, 'company')}
        />
        <TextField
          label="Job title"
          name="jobTitle"
          maxLength={255}
          autocomplete="organization-title"
          defaultValue={profile.jobTitle}
          problem={violationOf(error.value, 'job_title')}
        />
        <TextField
          label="Interested in"
          name="product"
          maxLength={255}
          defaultValue={profile.product}
          problem={violationOf(error.value, 'product')}
        />
        <Checkbox label="Inform me of news" name="news" defaultChecked={profile.updatesOptIn ?? false} />
      </Form>
    </Dialog>
  )
}
