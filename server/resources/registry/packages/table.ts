// The versions of packages that the operator has imported, for the whole server. All versions of a package are stored in
// the field `versions` of its message. Responses have those past their end of life in `eolVersions`.
import { equals, fromBinary, toBinary } from '@bufbuild/protobuf'
import type { PackageVersionMetadata } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { PackageVersionMetadataSchema } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { serverLog } from '../../../store/events/event-row.ts'
import { recordEvent } from '../../../store/events/record.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { all, first } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'

export type StoredPackage = { metadata: PackageVersionMetadata; updateTime: number }

export function* readPackages(names: readonly string[]): Work<Map<string, StoredPackage>> {
  if (names.length === 0) return new Map()
  const rows = yield* all(
    sql`select package, proto, update_time from package_versions where package in ${among(names)}`,
  )
  return new Map(
    rows.map(([name, proto, updateTime]) => [
      name as string,
      {
        metadata: fromBinary(PackageVersionMetadataSchema, proto as Uint8Array),
        updateTime: updateTime as number,
      },
    ]),
  )
}

export function* hasPackages(): Work<boolean> {
  return (yield* first(sql`select 1 from package_versions limit 1`)) !== undefined
}

export type PackageChange = 'new' | 'changed' | 'same' | 'removed'

/** Replaces the versions of a package; without versions, removes the package. */
export function* replacePackage(
  access: WriteAccess,
  name: string,
  metadata: PackageVersionMetadata,
  time: number,
): Work<PackageChange> {
  const current = (yield* readPackages([name])).get(name)
  if (metadata.versions.length === 0) {
    if (!current) return 'same'
    yield sql`delete from package_versions where package = ${name}`
    yield* record(access, name, 'deleted')
    return 'removed'
  }
  if (current && equals(PackageVersionMetadataSchema, current.metadata, metadata)) return 'same'
  const proto = toBinary(PackageVersionMetadataSchema, metadata)
  yield sql`insert into package_versions (package, update_time, proto) values (${name}, ${time}, ${proto})
    on conflict (package) do update set update_time = excluded.update_time, proto = excluded.proto`
  yield* record(access, name, current ? 'updated' : 'created')
  return current ? 'changed' : 'new'
}

/** Packages belong to no organization. */
const record = (access: WriteAccess, uid: string, action: string) =>
  recordEvent(access, { group: serverLog, kind: 'packages', uid, action })
