// The registry settings of an organization, which v2 does not have.
import { create, equals } from '@bufbuild/protobuf'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import type { RegistrySettings } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { RegistrySettingsSchema } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { invalidField, notFound } from '../../../aip/errors.ts'
import { etagOf, requireMatch, requireNoIfMatch } from '../../../aip/etag.ts'
import { rootOf } from '../../../aip/uid.ts'
import { admitToRead, admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { sql } from '../../../store/sql.ts'
import { readForUpdate } from '../../../store/table.ts'
import { first } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import { groups } from '../../iam/groups/table.ts'
import { readSettings, writeSettings } from '../../registry/settings/table.ts'
import { nextUpdateTime } from '../../stored-resource.ts'
import type { V1Dependencies } from '../dependencies.ts'

export const settingsMethods = ({ store, now }: V1Dependencies) => ({
  getRegistrySettings: ({ demand }: Call) =>
    store.read(function* () {
      yield* admitToRead(demand)
      requireOrganization(demand.scope)
      const group = yield* first(sql`select 1 from groups where uid = ${demand.scope}`)
      if (!group) throw notFound(GroupSchema.typeName, demand.scope)
      const { settings, updateTime } = yield* readSettings(demand.scope)
      return replyOf(settings, updateTime)
    }),

  updateRegistrySettings: (call: Call<RegistrySettings>) =>
    store.write(function* () {
      const access = yield* admitToWrite(call.demand)
      const { registryId, uniqueTags, eolGracePeriod } = call.request
      requireOrganization(registryId)
      const group = yield* readForUpdate(groups.table, registryId) // so that updates run one after the other
      if (!group) throw notFound(GroupSchema.typeName, registryId)
      const { settings: current, updateTime } = yield* readSettings(registryId)
      if (updateTime === undefined) requireNoIfMatch(call.ifMatch)
      else requireMatch(call.ifMatch, updateTime)
      const settings = create(RegistrySettingsSchema, { registryId, uniqueTags, eolGracePeriod })
      if (updateTime !== undefined && equals(RegistrySettingsSchema, current, settings))
        return replyOf(current, updateTime)
      const time = nextUpdateTime(now(), updateTime ?? 0)
      yield* writeSettings(access, settings, time)
      return replyOf(settings, time)
    }, call.deadline),
})

function requireOrganization(uid: string): void {
  if (rootOf(uid) !== uid) throw invalidField('registry_id', 'must be the uid of an organization')
}

const replyOf = (settings: RegistrySettings, updateTime: number | undefined): Reply => ({
  ...messageReply(RegistrySettingsSchema, settings),
  ...(updateTime !== undefined && { etag: etagOf(updateTime) }),
})
