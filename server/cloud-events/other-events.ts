// Events whose type follows neither from a change of a resource nor from the called method: registry pulls and pushes,
// accepted invites, sign-ins, issued tokens, and users and groups that an identity provider sends.
import type { Attributes } from './cloud-event.ts'
import type { EventBody } from './event-body.ts'
import type { RecordedEvent, RecordedOrigin } from './recorded-event.ts'

export type OtherEvent = {
  type: string
  /** In place of the URL of the method. */
  source?: string
  /** The uid of the acting identity. Used only if the row has no actor. */
  actor?: string
  body: EventBody
  extensions?: Attributes
}

/** Recorded with a pull or push of a manifest or blob, in `details`. */
export type RegistryDetails = {
  /** The name of the repo as the client wrote it. */
  repository: string
  /** The last part of its name. Only of a push. */
  displayName?: string
  tag?: string
  /** The digest to which a tag pointed before. Only of a push. */
  previousDigest?: string
  digest: string
  /** Only of the push of a manifest. */
  mediaType?: string
  /** HEAD or GET. Only of a pull. */
  method?: string
  type: 'manifest' | 'blob'
  /** How many equal pulls the event stands for. Absent if it is one. */
  count?: number
  /** Of a pull that failed: the HTTP status, and the code and message of OCI Distribution. */
  errorStatus?: number
  errorCode?: string
  errorMessage?: string
}

type OtherEvents = {
  readonly [kindAndAction: string]: (row: RecordedEvent, registry: string) => OtherEvent
}

/** Tokens that were issued to an identity. */
const tokenEvents = (...actions: string[]): OtherEvents =>
  Object.fromEntries(
    actions.map((action) => [
      `identities ${action}`,
      ({ uid }: RecordedEvent) => ({
        ...{ type: `api.auth.token.${action}.v1`, body: { json: JSON.stringify({ identity: uid }) } },
      }),
    ]),
  )

/** A sign-in or sign-out. */
function sessionEvent(type: string) {
  return ({ uid, details }: RecordedEvent): OtherEvent => ({
    type,
    body: { json: JSON.stringify({ identity: uid, ...JSON.parse(details ?? '{}') }) },
  })
}

/** SCIM users and groups. Their attributes are not recorded, so a body names only the user or group, and the provider. */
const scimEvents = (table: string, eventType: string): OtherEvents =>
  Object.fromEntries(
    ['created', 'updated', 'deleted'].map((action) => [
      `${table} ${action}`,
      ({ details }: RecordedEvent) => ({
        ...{ type: `${eventType}.${action}.v1`, body: { json: details ?? '{}' } },
      }),
    ]),
  )

/** By kind and action. `registry` is the host name of this server. */
export const otherEvents: OtherEvents = {
  'group_invites accepted': (row) => {
    // Written by `acceptInvite`.
    const { identity } = JSON.parse(row.details ?? '{}') as { identity: string }
    const session: EventBody = {
      json: JSON.stringify({ identity, group: row.group }),
      typeName: 'platform.auth.Session',
    }
    return { type: 'api.auth.registered.v1', actor: identity, body: session }
  },
  'identities signed-in': sessionEvent('api.auth.signed_in.v1'),
  'identities signed-out': sessionEvent('api.auth.signed_out.v1'),
  ...tokenEvents('exchanged', 'refreshed', 'issued'),
  ...scimEvents('scim_users', 'api.iam.scim_user'),
  ...scimEvents('scim_groups', 'api.iam.scim_group'),
  'repos pulled': (row, source) => ({ type: 'registry.pull.v1', source, body: registryBody(row) }),
  'repos pushed': (row, registry) => {
    const { repository, digest, mediaType, type } = detailsOf(row)
    return {
      ...{ type: 'registry.push.v1', source: registry, body: registryBody(row) },
      // Receivers pull the image that the extension `digest` names. A blob is not an image, so its event has none.
      ...(type === 'manifest' && {
        extensions: {
          digest: `${registry}/${repository}@${digest}`,
          ...(mediaType && { mediatype: mediaType }),
        },
      }),
    }
  },
}

// The code that records these events uses the same type.
const detailsOf = ({ details }: RecordedEvent) => JSON.parse(details ?? '{}') as RegistryDetails

/** The body of a pull or push, with the field names that receivers of the public platform's events expect. */
function registryBody(row: RecordedEvent): EventBody {
  const { repository, displayName, tag, previousDigest, digest, method, type, count, ...error } =
    detailsOf(row)
  const { address = '', userAgent = '' } = JSON.parse(row.origin) as RecordedOrigin // written by the recorder
  const body = {
    ...{ repository, repo_id: row.uid, display_name: displayName, tag, tag_previous_digest: previousDigest },
    ...{ digest, method, type, when: civilTime(row.time), location: '' },
    ...{ remote_address: address, user_agent: userAgent, count },
    ...(error.errorStatus !== undefined && {
      error: { status: error.errorStatus, code: error.errorCode, message: error.errorMessage },
    }),
  }
  return { json: JSON.stringify(body) }
}

/** A time in UTC with microseconds and without a zone. */
const civilTime = (time: number) => `${new Date(time).toISOString().slice(0, -1)}000`
