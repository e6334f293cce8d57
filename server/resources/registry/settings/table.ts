// The registry settings of an organization. An organization without stored settings has the defaults.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import type { RegistrySettings } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { RegistrySettingsSchema } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import type { EventDetails } from '../../../store/events/record.ts'
import { recordEvent } from '../../../store/events/record.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { all, first } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { writeJson } from '../../../wire/json-writer.ts'

/** `updateTime` is undefined if no settings are stored. */
export type StoredSettings = { settings: RegistrySettings; updateTime: number | undefined }

export function* readSettings(organization: string): Work<StoredSettings> {
  const row = yield* first(
    sql`select proto, update_time from registry_settings where organization = ${organization}`,
  )
  if (!row)
    return { settings: create(RegistrySettingsSchema, { registryId: organization }), updateTime: undefined }
  const [proto, updateTime] = row as [Uint8Array, number] // as selected
  return { settings: fromBinary(RegistrySettingsSchema, proto), updateTime }
}

/** The settings of those organizations that have stored settings. */
export function* settingsByOrganization(
  organizations: readonly string[],
): Work<Map<string, RegistrySettings>> {
  if (organizations.length === 0) return new Map()
  const rows = yield* all(
    sql`select organization, proto from registry_settings where organization in ${among(organizations)}`,
  )
  return new Map(
    rows.map(([organization, proto]) => [
      organization as string,
      fromBinary(RegistrySettingsSchema, proto as Uint8Array),
    ]),
  )
}

/** A foreign key refuses settings of an organization that does not exist. */
export function* writeSettings(
  access: WriteAccess,
  settings: RegistrySettings,
  updateTime: number,
): Work<void> {
  const proto = toBinary(RegistrySettingsSchema, settings)
  yield sql`insert into registry_settings (organization, update_time, proto)
    values (${settings.registryId}, ${updateTime}, ${proto})
    on conflict (organization) do update set update_time = excluded.update_time, proto = excluded.proto`
  const { registryId: group } = settings
  yield* recordEvent(access, {
    ...{ group, kind: 'registry_settings', uid: group, action: 'updated' },
    details: JSON.parse(writeJson(RegistrySettingsSchema, settings)) as EventDetails,
  })
}
