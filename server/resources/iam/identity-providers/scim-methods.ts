// Methods that manage the SCIM token of an identity provider, and turn provisioning on and off. server/scim verifies
// the token.
import { create } from '@bufbuild/protobuf'
import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type {
  GenerateScimTokenRequest,
  RegenerateScimTokenRequest,
  SetScimEnabledRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import {
  GenerateScimTokenResponseSchema,
  RegenerateScimTokenResponseSchema,
  RevokeScimTokenResponseSchema,
  SetScimEnabledResponseSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { aborted, failedPrecondition, noScimToken, notFound } from '../../../aip/errors.ts'
import { parentOf, rootOf } from '../../../aip/uid.ts'
import { digestOf } from '../../../crypto/digest.ts'
import { admitToWrite } from '../../../policy/admit.ts'
import { builtInRole } from '../../../policy/built-in-roles.ts'
import type { Grants } from '../../../policy/grants.ts'
import type { Call } from '../../../rpc/call.ts'
import type { EventDetails } from '../../../store/events/record.ts'
import { recordEvent } from '../../../store/events/record.ts'
import { neverExpires } from '../../../store/expiry.ts'
import type { ScimSettings } from '../../../store/scim-settings.ts'
import { initialScimSettings, lockScimSettings, writeScimSettings } from '../../../store/scim-settings.ts'
import { raw, sql } from '../../../store/sql.ts'
import { isNotSuspended } from '../../../store/suspensions.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { requireFreshSignInForMappedRoles } from '../../ownership.ts'
import { requireAllMappedRoles } from '../delegation.ts'
import { etagOfSettings, getWithScim, timeField } from './get-with-scim.ts'
import { expiryOf, isLive, newScimToken, overlapOf } from './scim-token.ts'
import { identityProviders } from './table.ts'

export function scimMethods(deps: Dependencies) {
  const { random, settings } = deps
  const endpointOf = (uid: string) => `${settings.scimUrl}/${uid}`
  function* authorize(grants: Grants, uid: string): Work<void> {
    yield* requireAllMappedRoles(grants, uid)
    yield* requireFreshSignInForMappedRoles(deps, grants.caller, uid)
  }
  return {
    getIdentityProvider: (call: Call) => getWithScim(deps, call),

    generateScimToken: (call: Call<GenerateScimTokenRequest>) =>
      changeSettings(
        deps,
        call,
        (uid, current, now) => {
          if (current.tokenDigest !== null)
            throw failedPrecondition(
              'SCIM_TOKEN_EXISTS',
              'the identity provider has a SCIM token, or had one; use RegenerateScimToken',
            )
          const [token, expires] = [newScimToken(random), expiryOf(call.request, now)]
          const changed = { ...current, tokenDigest: digestOf(token), tokenExpireTime: expires }
          return [
            changed,
            (etag) =>
              messageReply(
                GenerateScimTokenResponseSchema,
                create(GenerateScimTokenResponseSchema, {
                  ...{ token, etag, identityProviderUid: uid, endpointUrl: endpointOf(uid) },
                  ...timeField('expireTime', expires),
                }),
              ),
          ]
        },
        { authorize },
      ),

    regenerateScimToken: (call: Call<RegenerateScimTokenRequest>) =>
      changeSettings(
        deps,
        call,
        (uid, current, now) => {
          if (current.tokenDigest === null) throw noScimToken(uid)
          const { requestedMs, effectiveMs } = overlapOf(call.request.overlap)
          const [token, expires] = [newScimToken(random), expiryOf(call.request, now)]
          requireEtag(call.request.etag, current)
          const previous = isLive(current, now) && effectiveMs > 0 ? current.tokenDigest : null
          const previousEnd =
            previous && Math.min(now + effectiveMs, current.tokenExpireTime ?? Number.MAX_VALUE)
          const changed = {
            ...current,
            ...{ tokenDigest: digestOf(token), tokenExpireTime: expires, revokeTime: null },
            ...{ previousDigest: previous, previousExpireTime: previousEnd || null },
          }
          return [
            changed,
            (etag) =>
              messageReply(
                RegenerateScimTokenResponseSchema,
                create(RegenerateScimTokenResponseSchema, {
                  ...{ token, etag, identityProviderUid: uid, endpointUrl: endpointOf(uid) },
                  ...timeField('expireTime', expires),
                  ...timeField('previousTokenExpireTime', previousEnd || null),
                  requestedOverlap: durationFromMs(requestedMs),
                }),
              ),
          ]
        },
        { authorize },
      ),

    revokeScimToken: (call: Call) =>
      changeSettings(deps, call, (uid, current, now) => {
        if (current.tokenDigest === null) throw noScimToken(uid)
        const revokeTime = current.revokeTime ?? now
        const changed = { ...current, revokeTime, previousDigest: null, previousExpireTime: null }
        return [
          changed,
          (etag) =>
            messageReply(
              RevokeScimTokenResponseSchema,
              create(RevokeScimTokenResponseSchema, {
                ...{ identityProviderUid: uid, etag, enabled: current.isEnabled },
                revokeTime: timestampFromMs(revokeTime),
              }),
            ),
        ]
      }),

    setScimEnabled: (call: Call<SetScimEnabledRequest>) =>
      changeSettings(
        deps,
        call,
        (uid, current) => {
          const { enabled, etag: sentEtag } = call.request
          requireEtag(sentEtag, current)
          return [
            { ...current, isEnabled: enabled },
            (etag) =>
              messageReply(
                SetScimEnabledResponseSchema,
                create(SetScimEnabledResponseSchema, { identityProviderUid: uid, enabled, etag }),
              ),
          ]
        },
        call.request.enabled ? { authorize, check: requireTwoOwners } : {},
      ),
  }
}

type Change = (uid: string, current: ScimSettings, now: number) => [ScimSettings, (etag: string) => Reply]

type Checks = {
  /** Checks that the caller may make this change. */
  authorize?(grants: Grants, uid: string): Work<void>
  check?(uid: string): Work<void>
}

/** Changes the SCIM settings of the identity provider that a call names, in one transaction. */
function changeSettings(
  { store, now }: Dependencies,
  call: Call,
  change: Change,
  { authorize, check }: Checks = {},
): Promise<Reply> {
  return store.write(function* () {
    const grants = yield* admitToWrite(call.demand)
    const uid = call.demand.scope
    // Locks the provider, because the SCIM settings have no row before their first change.
    const provider = yield* first(
      sql`select uid from identity_providers where uid = ${uid} /*pg for no key update */`,
    )
    if (!provider) throw notFound(identityProviders.desc.typeName, uid)
    if (authorize) yield* authorize(grants, uid)
    const current = (yield* lockScimSettings(uid)) ?? initialScimSettings
    const [changed, reply] = change(uid, current, now())
    if (check) yield* check(uid)
    if (isSame(current, changed)) return reply(etagOfSettings(current))
    const stored = { ...changed, version: current.version + 1 }
    yield* writeScimSettings(uid, stored)
    const response = reply(etagOfSettings(stored))
    yield* recordEvent(grants, {
      ...{ group: parentOf(uid), kind: 'identity_providers', uid, action: actionOf(call.method.desc.name) },
      details: withoutToken(response),
    })
    return response
  }, call.deadline)
}

const actionOf = (method: string) =>
  method === 'SetScimEnabled'
    ? 'scim-updated'
    : `scim-token-${method.replace(/ScimToken$/, '').toLowerCase()}d`

/** The response, for the event log. */
function withoutToken(response: Reply): EventDetails {
  const { token: _, ...details } = JSON.parse(response.json().text) as Record<string, string | boolean>
  return details
}

const isSame = (a: ScimSettings, b: ScimSettings) => JSON.stringify(a) === JSON.stringify(b)

function requireEtag(sent: string, current: ScimSettings): void {
  if (sent !== etagOfSettings(current))
    throw aborted('the SCIM settings have changed since they were read; read the identity provider again')
}

/**
 * Provisioning can deactivate people, so an organization with one owner could be left without any.
 * An external group with the role does not count: provisioning decides who its members are. Neither does an owner whom
 * an identity provider has deactivated.
 */
function* requireTwoOwners(provider: string): Work<void> {
  const owners = yield sql`select distinct b.identity from role_bindings b
    where b.parent = ${rootOf(provider)} and b.role = ${builtInRole('owner').uid} and b.expire_time = ${neverExpires}
    and b.identity not in (select external_group from external_group_role_mappings)
    and ${isNotSuspended(raw('b.identity'))} limit 2`
  if (owners.length < 2)
    throw failedPrecondition(
      'TOO_FEW_OWNERS',
      'provisioning needs at least two identities with the role owner in the organization itself, without an expiry and not deactivated by an identity provider, so that it cannot lock out the only owner',
    )
}
