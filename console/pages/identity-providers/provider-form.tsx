// The forms that create and change an identity provider.
import type { IdentityProviderJson } from '@stemma/api/json/platform/iam/v2beta1/identity_provider'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { useData } from '../../api/read.ts'
import { readRoles, roleOptions, rolesFor } from '../../api/roles.ts'
import { parentOf } from '../../api/uids.ts'
import { updateMask } from '../../api/update-mask.ts'
import { useWrite } from '../../api/write.ts'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../router/route.ts'
import { navigate, withQuery } from '../../router/router.ts'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Select, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { NameFields } from '../../ui/name-fields.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import type { Preset } from './presets.ts'
import { presets } from './presets.ts'
import { providerFields, providerOf } from './provider-values.ts'

export function CreateProvider({ place }: PageProps) {
  const chosen = place.query.get('preset') ?? 'okta'
  const preset = presets[chosen]
  const { run, isRunning, error } = useWrite(api.identityProviders.createIdentityProvider, {
    done: 'Identity provider created',
    after: ({ uid = '' }) => navigate(paths.identityProvider(place.group, uid), { replace: true }),
  })
  const create = (values: FormData) => {
    const provider = providerOf(values)
    const correlationRule = values.has('oid') ? byOid : undefined
    void run({
      parent: place.group,
      identityProvider: {
        ...provider,
        oidc: { ...provider.oidc, ...(correlationRule && { correlationRule }) },
      },
    })
  }
  return (
    <Dialog place={place} title="New identity provider" isWide>
      <Tabs
        label="Provider"
        tabs={Object.entries(presets).map(([key, { name }]) => ({
          ...{ label: name, to: withQuery(place, { preset: key }), isCurrent: key === chosen },
        }))}
      />
      {preset && <p class="quiet">{preset.help}</p>}
      <ProviderForm
        key={chosen}
        place={place}
        submit="Create identity provider"
        preset={preset}
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={create}
      />
    </Dialog>
  )
}

const byOid = 'CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID' as const

export function EditProvider({ place, provider }: PageProps & { provider: IdentityProviderJson }) {
  const { run, isRunning, error } = useWrite(api.identityProviders.updateIdentityProvider, {
    ...{ done: 'Identity provider changed', after: () => closeDialog(place) },
  })
  const change = (values: FormData) => {
    const changed = { uid: provider.uid ?? '', ...providerOf(values) }
    const mask = updateMask<IdentityProviderJson>(provider, changed, providerFields)
    void run({ identityProvider: changed, updateMask: mask })
  }
  return (
    <Dialog place={place} title="Change identity provider" isWide>
      <ProviderForm
        place={place}
        submit="Save"
        provider={provider}
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={change}
      />
    </Dialog>
  )
}

type ProviderFormProps = PageProps & {
  submit: string
  preset?: Preset | undefined
  provider?: IdentityProviderJson | undefined
  isRunning: boolean
  error: unknown
  onSubmit(values: FormData): void
}

function ProviderForm({ place, submit, preset, provider, isRunning, error, onSubmit }: ProviderFormProps) {
  // The page of a group also shows the providers of the groups below it.
  const group = provider?.uid === undefined ? place.group : parentOf(provider.uid)
  const roles = rolesFor(group, useData(readRoles(place.group)).roles ?? [])
  const viewer = roles.find(({ name }) => name === 'viewer')?.uid
  const { oidc } = provider ?? {}
  return (
    <Form
      submit={submit}
      isRunning={isRunning}
      error={error}
      onSubmit={onSubmit}
      onCancel={() => void closeDialog(place)}
    >
      <div class="field-columns">
        <NameFields
          error={error}
          name={provider?.name ?? preset?.shortName}
          description={provider?.description}
        />
        <TextField
          label="Issuer"
          name="issuer"
          type="url"
          required
          maxLength={1024}
          placeholder={preset?.issuerExample}
          defaultValue={oidc?.issuer ?? preset?.issuer}
          hint={
            provider && 'With another issuer, people get new identities, without the roles of the old ones.'
          }
          problem={violationOf(error, 'oidc.issuer')}
        />
        <Select
          label="Default role"
          name="role"
          defaultValue={provider?.defaultRole ?? viewer}
          options={roleOptions(roles, provider?.defaultRole)}
          hint="Everybody who signs in for the first time gets it in this group."
          problem={violationOf(error, 'default_role')}
        />
        <ClientFields provider={provider} preset={preset} error={error} />
      </div>
      <Checkbox
        label="Use PKCE"
        name="pkce"
        defaultChecked={oidc?.pkceEnabled ?? true}
        hint="Makes a stolen authorization code useless. Turn it off only if the provider refuses it."
      />
      {preset && (
        <Checkbox
          label="Recognise people by the claim oid"
          name="oid"
          defaultChecked={preset.correlatesByOid ?? false}
          hint="For Entra, whose claim sub differs for each application. Cannot be changed later."
        />
      )}
    </Form>
  )
}

type ClientFieldsProps = Pick<ProviderFormProps, 'provider' | 'preset' | 'error'>

/** How the server identifies itself at the provider, and which information about people it requests. */
function ClientFields({ provider, preset, error }: ClientFieldsProps) {
  const { oidc } = provider ?? {}
  return (
    <>
      <TextField
        label="Client id"
        name="clientId"
        required
        maxLength={1024}
        defaultValue={oidc?.clientId}
        problem={violationOf(error, 'oidc.client_id')}
      />
      <TextField
        label="Client secret"
        name="clientSecret"
        type="password"
        maxLength={4096}
        autocomplete="new-password"
        placeholder={provider && 'unchanged'}
        hint="Stored encrypted, and never shown. Not needed for a public client with PKCE."
        problem={violationOf(error, 'oidc.client_secret')}
      />
      <TextField
        label="Additional scopes"
        name="scopes"
        defaultValue={oidc?.additionalScopes?.join(' ') ?? preset?.scopes}
        hint="Separated by spaces. openid, email and profile are always requested."
        problem={violationOf(error, 'oidc.additional_scopes')}
      />
      <TextField
        label="Groups claim"
        name="groupsClaim"
        maxLength={255}
        defaultValue={oidc?.groupsClaim ?? preset?.groupsClaim}
        hint="The claim of the id token with the groups of a person. Empty if there is none."
        problem={violationOf(error, 'oidc.groups_claim')}
      />
    </>
  )
}
