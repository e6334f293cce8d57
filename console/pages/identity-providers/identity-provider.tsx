// One identity provider: its settings, what to register at the provider, provisioning, and roles of its groups.
import { api } from '../../api/api.ts'
import { readPermissions, useDenial } from '../../api/permissions.ts'
import { read, useData } from '../../api/read.ts'
import { readRoles } from '../../api/roles.ts'
import { paths } from '../../paths.ts'
import type { PageProps, Place } from '../../router/route.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { CodeBlock, PageCommands } from '../../ui/code-block.tsx'
import { Uid } from '../../ui/copy.tsx'
import { dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Properties } from '../../ui/properties.tsx'
import { Time } from '../../ui/time.tsx'
import { readGroupOf } from './create-mapping.tsx'
import { DeleteProvider } from './delete.tsx'
import { FindPerson } from './find-person.tsx'
import { groupOfProvider, Mappings, readMappings } from './mappings.tsx'
import { EditProvider } from './provider-form.tsx'
import { Scim } from './scim.tsx'

const readProvider = ({ uids }: Place) =>
  read(api.identityProviders.getIdentityProvider, { uid: uids.provider ?? '' })

export const load = (place: Place) => [
  ...[
    readProvider(place),
    readMappings(place),
    readRoles(place.group),
    readGroupOf(place.uids.provider ?? ''),
  ],
  readPermissions(groupOfProvider(place)),
]

export default function IdentityProvider({ place }: PageProps) {
  const provider = useData(readProvider(place))
  const { roles = [] } = useData(readRoles(place.group))
  const denial = useDenial(groupOfProvider(place))
  const { uid = '', name, description, oidc, defaultRole, scim, createTime, updateTime } = provider
  const { prefix = '', issuer = '' } = document.documentElement.dataset
  const updateDenial = denial('identity_providers.update') ?? denial('role_bindings.create')
  return (
    <>
      <PageHeader
        title={name}
        about={description || 'Identity provider'}
        actions={
          <>
            <ButtonLink to={paths.testSignIn(uid)} icon="external" isExternal disabledReason={updateDenial}>
              Test sign-in
            </ButtonLink>
            <ButtonLink to={dialogPath(place, 'find')}>Find a person</ButtonLink>
            <ButtonLink to={dialogPath(place, 'edit')} disabledReason={updateDenial}>
              Change
            </ButtonLink>
            <ButtonLink to={dialogPath(place, 'delete')} disabledReason={denial('identity_providers.delete')}>
              Delete
            </ButtonLink>
          </>
        }
      />
      <section class="panel">
        <h2>At the provider</h2>
        <p>Register this redirect URI for the client that this server uses:</p>
        <CodeBlock label="redirect URI" code={`${issuer}/oauth/callback/${uid}`} />
        <p>People sign in with this link; it can be the start page of the application at the provider:</p>
        <CodeBlock label="sign-in link" code={location.origin + prefix + paths.signInThrough(uid)} />
      </section>
      <section class="panel">
        <h2>Properties</h2>
        <Properties
          rows={[
            ['Uid', <Uid key="uid" uid={uid} />],
            ['Issuer', oidc?.issuer],
            ['Client id', oidc?.clientId],
            ['PKCE', oidc?.pkceEnabled ? 'on' : 'off'],
            ['Scopes', ['openid', 'email', 'profile', ...(oidc?.additionalScopes ?? [])].join(' ')],
            ['Groups claim', oidc?.groupsClaim],
            ['People are recognised by', isByOid(oidc?.correlationRule) ? 'the claim oid' : 'the claim sub'],
            ['Default role', roles.find((role) => role.uid === defaultRole)?.name ?? 'hidden'],
            ['Created', <Time key="created" at={createTime} />],
            ['Changed', <Time key="changed" at={updateTime} />],
          ]}
        />
      </section>
      <Scim place={place} provider={uid} scim={scim ?? {}} />
      <Mappings place={place} provider={uid} roles={roles} />
      <PageCommands
        stemma={`stemma identity-providers get ${uid}`}
        curl={{ path: `/iam/v2beta1/identityProviders/${uid}` }}
      />
      {isDialogOpen(place, 'edit') && <EditProvider place={place} provider={provider} />}
      {isDialogOpen(place, 'delete') && <DeleteProvider place={place} provider={provider} />}
      {isDialogOpen(place, 'find') && <FindPerson place={place} issuer={oidc?.issuer ?? ''} />}
    </>
  )
}

const isByOid = (rule: string | undefined) => rule === 'CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID'
