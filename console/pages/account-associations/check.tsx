// Says whether an account can be used.
import { useSignal } from '@preact/signals'
import type {
  AccountAssociationJson,
  AccountProviderTypeJson,
  CheckAccountAssociationResponseJson,
} from '@stemma/api/json/platform/iam/v2beta1/account_association'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { Select } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'

const providers = [
  { value: 'ACCOUNT_PROVIDER_TYPE_AMAZON', label: 'AWS', key: 'amazon' },
  { value: 'ACCOUNT_PROVIDER_TYPE_GOOGLE', label: 'Google Cloud', key: 'google' },
  { value: 'ACCOUNT_PROVIDER_TYPE_AZURE', label: 'Azure', key: 'azure' },
] as const

export const canBeChecked = (association: AccountAssociationJson) =>
  providers.some(({ key }) => association[key] !== undefined)

type CheckProps = PageProps & { association: AccountAssociationJson }

export function CheckAssociation({ place, association }: CheckProps) {
  const result = useSignal<CheckAccountAssociationResponseJson | undefined>(undefined)
  const { run, isRunning, error } = useWrite(api.accountAssociations.checkAccountAssociation)
  const check = async (values: FormData) => {
    const providerType = String(values.get('provider')) as AccountProviderTypeJson // an option of the form
    result.value = await run({ uid: association.uid ?? '', providerType })
  }
  const isReady = result.value?.status === 'CHECK_STATUS_READY'
  return (
    <Dialog place={place} title={`Check the accounts ${association.name}`}>
      <Form
        submit="Check"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={check}
        onCancel={() => void closeDialog(place)}
      >
        <Select
          label="Account"
          name="provider"
          options={providers.filter(({ key }) => association[key] !== undefined)}
          problem={violationOf(error.value, 'provider_type')}
        />
        <div aria-live="polite">
          {result.value && (
            <p>
              <Badge tone={isReady ? 'good' : 'bad'}>{isReady ? 'ready' : 'not ready'}</Badge>{' '}
              {result.value.message || result.value.reason}
            </p>
          )}
        </div>
      </Form>
    </Dialog>
  )
}
