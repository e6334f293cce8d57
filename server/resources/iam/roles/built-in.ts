// Puts the built-in roles into the store, and brings those of an older version up to date.
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

/** A day that never changes, since every install has the same roles. */
const since = Date.UTC(2026, 0, 1)

export function seedRoles(store: Store, access: WriteAccess): Promise<void> {
  return store.write(function* () {
    for (const role of builtInRoles) yield* seed(access, role)
  })
}

function* seed(access: WriteAccess, role: BuiltInRole): Work<void> {
  const { uid, name, description, capabilities } = role
  const numbers = new Set(capabilities.flatMap((capability) => capabilityNamed(capability)?.number ?? []))
  const time = timestampFromMs(since)
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
    const entry = entryOf(roles, wanted, { uid, name, createTime: since, updateTime: since })
    yield* insertEntry(access, roles.table, entry, [])
  } else if (!equals(RoleSchema, stored.resource, wanted))
    yield* replaceResource(access, roles, wanted, { uid, updateTime: since })
}
