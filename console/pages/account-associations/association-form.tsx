// The forms that create and change the account association of a group.
import type { AccountAssociationJson } from '@stemma/api/json/platform/iam/v2beta1/account_association'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { read, useRead } from '../../api/read.ts'
import { updateMask } from '../../api/update-mask.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { TextArea, TextField } from '../../ui/field.tsx'
import { Form, Problem } from '../../ui/form.tsx'
import { NameFields } from '../../ui/name-fields.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { associationFields, associationOf, installationLines, linesOf } from './association-values.ts'

export function CreateAssociation({ place }: PageProps) {
  const { run, isRunning, error } = useWrite(api.accountAssociations.createAccountAssociation, {
    ...{ done: 'Accounts associated', after: () => closeDialog(place) },
  })
  return (
    <Dialog place={place} title="Associate accounts with this group" isWide>
      <AssociationForm
        place={place}
        submit="Associate accounts"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={(values) => void run({ parent: place.group, accountAssociation: associationOf(values) })}
      />
    </Dialog>
  )
}

/** Changes the account association in the query parameter `about`. */
export function EditAssociation({ place }: PageProps) {
  const uid = place.query.get('about') ?? ''
  const { data, error: readError } = useRead(read(api.accountAssociations.getAccountAssociation, { uid }))
  const { run, isRunning, error } = useWrite(api.accountAssociations.updateAccountAssociation, {
    ...{ done: 'Accounts changed', after: () => closeDialog(place) },
  })
  return (
    <Dialog place={place} title="Change accounts" isWide>
      {readError && <Problem error={readError} />}
      {!data && !readError && <Skeleton />}
      {data && (
        <AssociationForm
          place={place}
          submit="Save"
          association={data}
          isRunning={isRunning.value}
          error={error.value}
          onSubmit={(values) => {
            const accountAssociation = { uid, ...associationOf(values) }
            void run({
              ...{ accountAssociation, updateMask: updateMask(data, accountAssociation, associationFields) },
            })
          }}
        />
      )}
    </Dialog>
  )
}

type AssociationFormProps = PageProps & {
  submit: string
  association?: AccountAssociationJson
  isRunning: boolean
  error: unknown
  onSubmit(values: FormData): void
}

function AssociationForm({ place, submit, association, isRunning, error, onSubmit }: AssociationFormProps) {
  const { amazon, google, azure, github, chainguard } = association ?? {}
  return (
    <Form
      submit={submit}
      isRunning={isRunning}
      error={error}
      onSubmit={onSubmit}
      onCancel={() => void closeDialog(place)}
    >
      <div class="field-columns">
        <NameFields error={error} name={association?.name} description={association?.description} />
        <TextField
          label="AWS account"
          name="amazon"
          inputMode="numeric"
          placeholder="123456789012"
          defaultValue={amazon?.account}
          problem={violationOf(error, 'amazon.account')}
        />
        <TextField
          label="Google Cloud project id"
          name="projectId"
          maxLength={255}
          defaultValue={google?.projectId}
          problem={violationOf(error, 'google.project_id')}
        />
        <TextField
          label="Google Cloud project number"
          name="projectNumber"
          maxLength={255}
          defaultValue={google?.projectNumber}
          problem={violationOf(error, 'google.project_number')}
        />
        <TextField
          label="Azure tenant id"
          name="tenantId"
          maxLength={255}
          defaultValue={azure?.tenantId}
          problem={violationOf(error, 'azure.tenant_id')}
        />
        <TextArea
          label="Azure client ids"
          name="clientIds"
          defaultValue={linesOf(azure?.clientIds)}
          hint="One on each line: component=client id."
          problem={violationOf(error, 'azure.client_ids')}
        />
        <TextArea
          label="GitHub app installations"
          name="github"
          defaultValue={installationLines(github)}
          hint="One on each line: id of the app, id of the installation, and the account."
          problem={violationOf(error, 'github.app_installations')}
        />
        <TextArea
          label="Service bindings"
          name="services"
          defaultValue={linesOf(chainguard?.serviceBindings)}
          hint="One on each line: service=uid of its identity."
          problem={violationOf(error, 'chainguard.service_bindings')}
        />
      </div>
    </Form>
  )
}
