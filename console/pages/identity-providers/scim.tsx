// SCIM provisioning by an identity provider: its state, its address, and its token.
import { useDenial } from '../../api/permissions.ts'
import { Badge } from '../../ui/badge.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Properties } from '../../ui/properties.tsx'
import { Time } from '../../ui/time.tsx'
import { groupOfProvider } from './mappings.tsx'
import { NewScimToken, RevokeScimToken, SwitchScim } from './scim-dialogs.tsx'
import type { ScimProps } from './scim-token.ts'
import { tokenStates, wasTokenIssued } from './scim-token.ts'

export function Scim({ place, provider, scim }: ScimProps) {
  const denial = useDenial(groupOfProvider(place))('identity_providers.scim.manage')
  const state = scim.credentialState ?? 'CREDENTIAL_STATE_NOT_ISSUED'
  const [tone, text] = tokenStates[state] ?? ['neutral', state]
  const props = { place, provider, scim }
  return (
    <section class="panel">
      <div class="panel-header">
        <h2>Provisioning by SCIM {scim.enabled ? <Badge tone="good">on</Badge> : <Badge>off</Badge>}</h2>
        <div class="actions">
          <ButtonLink to={dialogPath(place, 'scim-token')} disabledReason={denial}>
            {wasTokenIssued(scim) ? 'Replace the token' : 'Create a token'}
          </ButtonLink>
          {(state === 'CREDENTIAL_STATE_LIVE' || state === 'CREDENTIAL_STATE_ROTATING') && (
            <ButtonLink to={dialogPath(place, 'scim-revoke')} disabledReason={denial}>
              Revoke the token
            </ButtonLink>
          )}
          <ButtonLink to={dialogPath(place, 'scim-switch')} disabledReason={denial}>
            {scim.enabled ? 'Turn off' : 'Turn on'}
          </ButtonLink>
        </div>
      </div>
      <p class="quiet">
        The provider creates, changes and deactivates people and groups. When somebody leaves, their access
        ends with their next call. Enter this base URL and the token at the provider:
      </p>
      <CodeBlock label="base URL" code={scim.endpointUrl ?? ''} />
      <Properties
        rows={[
          [
            'Token',
            <Badge key="state" tone={tone}>
              {text}
            </Badge>,
          ],
          [
            state === 'CREDENTIAL_STATE_REVOKED' ? 'Revoked' : 'Token expires',
            scim.tokenExpireTime ? <Time at={scim.tokenExpireTime} /> : wasTokenIssued(scim) && 'never',
          ],
          [
            'Previous token works until',
            scim.previousTokenExpireTime && <Time at={scim.previousTokenExpireTime} />,
          ],
        ]}
      />
      {isDialogOpen(place, 'scim-token') && <NewScimToken {...props} />}
      {isDialogOpen(place, 'scim-revoke') && <RevokeScimToken {...props} />}
      {isDialogOpen(place, 'scim-switch') && <SwitchScim {...props} />}
    </section>
  )
}
