// Get of identity providers, with the state of their SCIM token.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { IdentityProvider_SCIMSchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { notFound } from '../../../aip/errors.ts'
import { etagOf } from '../../../aip/etag.ts'
import { admitToRead } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import type { ScimSettings } from '../../../store/scim-settings.ts'
import { initialScimSettings, readScimSettings } from '../../../store/scim-settings.ts'
import { sql } from '../../../store/sql.ts'
import { first } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { messageOf } from '../../kind.ts'
import { credentialStateOf, isPreviousLive, tokenEndOf } from './scim-token.ts'
import { identityProviders } from './table.ts'

/** The state depends on the time, so it is not part of the stored row. */
export async function getWithScim({ store, now, settings }: Dependencies, call: Call): Promise<Reply> {
  return store.read(function* () {
    yield* admitToRead(call.demand)
    const uid = call.demand.scope
    const row = yield* first(sql`select proto, update_time from identity_providers where uid = ${uid}`)
    if (!row) throw notFound(identityProviders.desc.typeName, uid)
    const [proto, updateTime] = row as [Uint8Array, number]
    const provider = messageOf(identityProviders, proto)
    const scim = (yield* readScimSettings(uid)) ?? initialScimSettings
    const state = scimStateOf(scim, `${settings.scimUrl}/${uid}`, now())
    const message = create(identityProviders.desc, {
      ...provider,
      scim: create(IdentityProvider_SCIMSchema, state),
    })
    return { ...messageReply(identityProviders.desc, message), etag: etagOf(updateTime) }
  })
}

const scimStateOf = (
  settings: ScimSettings,
  endpointUrl: string,
  now: number,
): MessageInitShape<typeof IdentityProvider_SCIMSchema> => ({
  ...{ enabled: settings.isEnabled, endpointUrl, etag: etagOfSettings(settings) },
  credentialState: credentialStateOf(settings, now),
  ...timeField('tokenExpireTime', tokenEndOf(settings)),
  ...timeField('previousTokenExpireTime', isPreviousLive(settings, now) ? settings.previousExpireTime : null),
})

/** The version of the SCIM settings. */
export const etagOfSettings = ({ version }: ScimSettings) => String(version)

export const timeField = <N extends string>(name: N, time: number | null) =>
  (time === null ? {} : { [name]: timestampFromMs(time) }) as {
    [name in N]?: ReturnType<typeof timestampFromMs>
  }
