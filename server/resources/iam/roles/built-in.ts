// Stores the built-in roles, and updates those that an older version has stored.
import { create, equals } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { RoleSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import type { BuiltInRole } from '../../../policy/built-in-roles.ts'
import { builtInRoles } from '../../../policy/built-in-roles.ts'
import { capabilityNamed } from '../../../policy/capabilities.ts'
import type { Store } from '../../../store/db.ts'
import { insertEntry } from '../../../store/table.ts'
import type { Work } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { entryOf } from '../../kind.ts'
import { lockResource, replaceResource } from '../../stored-resource.ts'
import { roles } from './table.ts'

/** The create and update time of built-in roles, the same in every installation. */
const roleTime = Date.UTC(2026, 0, 1)

export function seedRoles(store: Store, access: WriteAccess): Promise<void> {
  return store.write(function* () {
    for (const role of builtInRoles) yield* seed(access, role)
  })
}

function* seed(access: WriteAccess, role: BuiltInRole): Work<void> {
  const { uid, name, description, capabilities } = role
  const numbers = new Set(capabilities.flatMap((capability) => capabilityNamed(capability)?.number ?? []))
  const time = timestampFromMs(roleTime)
  const wanted = create(RoleSchema, {
    uid,
    name,
    description,
    capabilities: [...numbers].sort((a, b) => a - b),
    createTime: time,
    updateTime: time,
  })
  const stored = yield* lockResource(roles, uid)
  if (!stored) {
    const entry = entryOf(roles, wanted, { uid, name, createTime: roleTime, updateTime: roleTime })
    yield* insertEntry(access, roles.table, entry, [])
  } else if (!equals(RoleSchema, stored.resource, wanted))
    yield* replaceResource(access, roles, wanted, { uid, updateTime: roleTime })
}
