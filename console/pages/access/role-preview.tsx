// Shows the capabilities that somebody gets with a role, before it is given.
import type { RoleJson } from '@stemma/api/json/platform/iam/v2beta1/role'
import { api } from '../../api/api.ts'
import { actionOf, capabilityName, groupCapabilities } from '../../api/capabilities.ts'
import type { Read } from '../../api/read.ts'
import { read, useRead } from '../../api/read.ts'
import { Problem } from '../../ui/form.tsx'
import type { Option } from '../../ui/suggestions.ts'

type RolePreviewProps = {
  group: Option
  /** Undefined unless exactly one identity is chosen. */
  identity: Option | undefined
  /** The number of chosen identities. 0 in an invite. */
  count: number
  role: RoleJson
}

export function RolePreview({ group, identity, count, role }: RolePreviewProps) {
  const capabilities = (role.capabilities ?? []).map((capability) => capabilityName(String(capability)))
  const questions = capabilities.map((capability) => ({
    ...{ capability, resource: group.value, identity: identity?.value ?? '' },
  }))
  const { data } = useRead(read(api.access.batchCheckAccess, { questions }), identity !== undefined)
  const { error } = useRead(
    checkOf(group.value, identity?.value ?? '', role.uid ?? ''),
    identity !== undefined,
  )
  const held = new Set(capabilities.filter((_, at) => data?.decisions?.[at]?.allowed))
  const added = capabilities.filter((name) => !held.has(name))
  return (
    <div class="preview" aria-live="polite">
      <p>
        <strong dir="auto">{identity?.label ?? (count > 1 ? `${count} identities` : 'They')}</strong>{' '}
        {identity ? 'gets' : 'get'} <strong>{role.name}</strong> in <strong dir="auto">{group.label}</strong>{' '}
        and everything below:{' '}
        {identity && data
          ? `${added.length} new ${nounFor(added.length)}, and ${held.size} that they already have.`
          : `${capabilities.length} ${nounFor(capabilities.length)}.`}
      </p>
      {error && <Problem error={error} />}
      <details>
        <summary>Capabilities</summary>
        <CapabilityList names={identity && data ? added : capabilities} />
      </details>
    </div>
  )
}

const nounFor = (count: number) => (count === 1 ? 'capability' : 'capabilities')

/**
 * The server makes all checks of the real call, and stores nothing. The query key begins with a
 * kind of its own, because the real call reloads all queries of the kind `roleBindings`: this check
 * would then fail, since the role binding exists.
 */
function checkOf(parent: string, identityUid: string, roleUid: string): Read<unknown> {
  const request = { parent, roleBinding: { identityUid, roleUid }, validateOnly: true }
  return {
    ...read(api.roleBindings.createRoleBinding, request),
    queryKey: ['validation', parent, identityUid, roleUid],
  }
}

export const CapabilityList = ({ names }: { names: readonly string[] }) => (
  <dl class="capabilities">
    {[...groupCapabilities(names)].map(([kind, capabilities]) => (
      <div key={kind}>
        <dt>{kind}</dt>
        <dd>{capabilities.map(actionOf).join(', ')}</dd>
      </div>
    ))}
  </dl>
)
