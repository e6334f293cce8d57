import { useSignal } from '@preact/signals'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { useWrite } from '../../api/write.ts'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { Select } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Secret } from '../../ui/secret.tsx'
import type { ScimProps } from './scim-token.ts'
import { wasTokenIssued } from './scim-token.ts'

const dayMs = 86_400_000

/** Creates the token, or replaces it, and shows it once. */
export function NewScimToken({ place, provider, scim }: ScimProps) {
  const token = useSignal('')
  // The first value is kept: creating a token makes `wasTokenIssued` true while this dialog still shows the new token.
  const isReplacement = useSignal(wasTokenIssued(scim)).value
  const generate = useWrite(api.identityProviders.generateScimToken, { done: 'Token created' })
  const regenerate = useWrite(api.identityProviders.regenerateScimToken, { done: 'Token replaced' })
  const { isRunning, error } = isReplacement ? regenerate : generate
  const make = async (values: FormData) => {
    const request = { identityProviderUid: provider, ...expiryOf(String(values.get('days'))) }
    const response = isReplacement
      ? await regenerate.run({
          ...request,
          overlap: String(values.get('overlap')),
          etag: scim.etag ?? '',
        })
      : await generate.run(request)
    if (response) token.value = response.token ?? ''
  }
  return (
    <Dialog place={place} title={isReplacement ? 'Replace the SCIM token' : 'Create a SCIM token'}>
      {token.value ? (
        <Secret place={place} secret={token.value} label="token">
          Enter this token at the provider as the bearer token of SCIM.
        </Secret>
      ) : (
        <Form
          submit={isReplacement ? 'Replace token' : 'Create token'}
          isRunning={isRunning.value}
          error={error.value}
          onSubmit={make}
          onCancel={() => void closeDialog(place)}
        >
          <Select
            label="Valid for"
            name="days"
            defaultValue="365"
            options={[
              { value: '90', label: '90 days' },
              { value: '365', label: 'a year' },
              { value: '730', label: 'two years' },
              { value: '', label: 'an unlimited time' },
            ]}
            problem={violationOf(error.value, 'expire_time')}
          />
          {isReplacement && (
            <Select
              label="The previous token still works for"
              name="overlap"
              options={[
                { value: '3600s', label: 'an hour' },
                { value: '86400s', label: 'a day' },
                { value: '0s', label: 'no time: it stops working now' },
              ]}
              problem={violationOf(error.value, 'overlap')}
            />
          )}
        </Form>
      )}
    </Dialog>
  )
}

const expiryOf = (days: string) =>
  days === ''
    ? { neverExpires: true }
    : { expireTime: new Date(Date.now() + Number(days) * dayMs - marginMs).toISOString() }

/** Subtracted, because the server refuses more than two years by its own clock, which may be behind this one. */
const marginMs = 3_600_000

export function RevokeScimToken({ place, provider }: ScimProps) {
  const { run, isRunning, error } = useWrite(api.identityProviders.revokeScimToken, {
    ...{ done: 'Token revoked', after: () => closeDialog(place) },
  })
  return (
    <Dialog place={place} title="Revoke the SCIM token?">
      <Form
        submit="Revoke token"
        tone="danger"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={() => void run({ identityProviderUid: provider })}
        onCancel={() => void closeDialog(place)}
      >
        <p>
          Requests of the provider are then refused, also those with the previous token. People and groups
          stay as they are until you create another token.
        </p>
      </Form>
    </Dialog>
  )
}

export function SwitchScim({ place, provider, scim }: ScimProps) {
  const { run, isRunning, error } = useWrite(api.identityProviders.setScimEnabled, {
    done: scim.enabled ? 'Provisioning turned off' : 'Provisioning turned on',
    after: () => closeDialog(place),
  })
  const turn = () =>
    void run({ identityProviderUid: provider, enabled: !scim.enabled, etag: scim.etag ?? '' })
  return (
    <Dialog place={place} title={scim.enabled ? 'Turn provisioning off?' : 'Turn provisioning on?'}>
      <Form
        submit={scim.enabled ? 'Turn off' : 'Turn on'}
        tone={scim.enabled ? 'danger' : 'primary'}
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={turn}
        onCancel={() => void closeDialog(place)}
      >
        {scim.enabled ? (
          <p>
            Requests of the provider are refused, and everybody who has an account there can sign in. The
            token, the SCIM users and the SCIM groups are kept.
          </p>
        ) : (
          <p>
            From then on, only people with an active SCIM user can sign in through this provider: provision
            them first. At least two identities that are not deactivated must have the role owner in the
            organization itself, without an expiry, so that provisioning cannot lock out the only owner.
          </p>
        )}
      </Form>
    </Dialog>
  )
}
