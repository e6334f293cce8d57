// A chain of nested groups, and an identity that has role bindings in the groups of the chain and beside it.
import { randomBytes } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { newChildUid, newRootUid } from '../../server/aip/uid.ts'
import { builtInRoles } from '../../server/policy/built-in-roles.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { createEntry } from '../../server/resources/create.ts'
import { groups } from '../../server/resources/iam/groups/table.ts'
import { identities } from '../../server/resources/iam/identities/table.ts'
import { roleBindings } from '../../server/resources/iam/role-bindings/table.ts'
import type { Store } from '../../server/store/db.ts'

export const depth = 8
export const bindingCount = 50

export type BindingsTree = { identity: string; chain: readonly string[]; deepest: string }

/**
 * Creates a chain of nested groups and an identity with `count` bindings: `bindingsInChain` of them in the groups of the
 * chain, the others in groups beside it.
 */
export function createTree(
  store: Store,
  bindingsInChain: number,
  count = bindingCount,
): Promise<BindingsTree> {
  const now = Date.now()
  return store.write(function* () {
    const chain = [newRootUid(randomBytes)]
    while (chain.length < depth) chain.push(newChildUid(chain.at(-1) ?? '', now, randomBytes))
    const [root = ''] = chain
    for (const uid of chain)
      yield* createEntry(operatorAccess, groups, create(GroupSchema, { name: 'group' }), { uid, now })
    const identity = newChildUid(root, now, randomBytes)
    yield* createEntry(operatorAccess, identities, create(IdentitySchema, { name: 'caller' }), {
      uid: identity,
      now,
    })
    for (let at = 0; at < count; at++) {
      let group = at < bindingsInChain ? chain[at] : undefined
      if (group === undefined) {
        group = newChildUid(root, now, randomBytes)
        yield* createEntry(operatorAccess, groups, create(GroupSchema, { name: 'beside' }), {
          uid: group,
          now,
        })
      }
      const columns = { identity, role: builtInRoles[at % builtInRoles.length]?.uid ?? '' }
      const uid = newChildUid(group, now, randomBytes)
      yield* createEntry(operatorAccess, roleBindings, create(RoleBindingSchema), { uid, now, columns })
    }
    return { identity, chain, deepest: chain.at(-1) ?? '' }
  })
}
