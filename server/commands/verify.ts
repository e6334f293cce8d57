// Sets the fields of an organization that only the operator may set.
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { OrgKind } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { isUid, parentOf } from '../aip/uid.ts'
import { readConfig } from '../config/config.ts'
import { operatorAccessFor } from '../policy/system-access.ts'
import { groups } from '../resources/iam/groups/table.ts'
import { lockResource, nextUpdateTime, replaceResource } from '../resources/stored-resource.ts'
import type { Store } from '../store/db.ts'
import { StoreError } from '../store/store-error.ts'
import type { Command } from './command.ts'
import { UsageError, usageOf } from './command.ts'
import { organizationKinds } from './help-texts.ts'
import { withPreparedStore } from './with-store.ts'

const kinds: { [name: string]: OrgKind } = {
  starter: OrgKind.STARTER,
  customer: OrgKind.CUSTOMER,
  dev: OrgKind.DEV,
  infra: OrgKind.INFRA,
  'aws-marketplace': OrgKind.AWS_MARKETPLACE,
} satisfies Record<(typeof organizationKinds)[number], OrgKind>

const flagTypes = { kind: { type: 'string' }, undo: { type: 'boolean' } } as const

export const verify: Command = async (args, context) => {
  const { config, flags, positionals } = readConfig(context.env, args, flagTypes)
  const [uid, domain = '', ...extra] = positionals
  if (uid === undefined || extra.length > 0 || !isUid(uid)) throw usageOf('verify')
  const kindName = flags.kind === undefined ? undefined : String(flags.kind)
  if (kindName !== undefined && !Object.hasOwn(kinds, kindName))
    throw new UsageError(`--kind must be one of ${organizationKinds.join(', ')}`)
  const kind = kindName === undefined ? undefined : kinds[kindName]
  const isVerified = flags.undo !== true
  const expected = isVerified || domain !== '' ? { domain } : {}
  const name = await withPreparedStore(config, context, ({ store }) =>
    verifyOrganization(store, uid, { isVerified, kind, now: context.now(), ...expected }),
  )
  context.stdout.write(isVerified ? `${name} is verified.\n` : `${name} is no longer verified.\n`)
  return 0
}

export type Verification = {
  isVerified: boolean
  /** The domain that the operator has checked. It is compared with the name of the organization. */
  domain?: string
  kind?: OrgKind | undefined
  now: number
}

const domainName = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/

/** Returns the name of the organization. */
export async function verifyOrganization(
  store: Store,
  uid: string,
  verification: Verification,
): Promise<string> {
  try {
    return await store.write(function* () {
      const stored = yield* lockResource(groups, uid)
      if (!stored || parentOf(uid) !== '') throw new UsageError(`there is no organization ${uid}`)
      const group = stored.resource
      if (verification.isVerified && !domainName.test(group.name))
        throw new UsageError(
          `the name of a verified organization must be a domain, such as example.com; this one is ${JSON.stringify(group.name)}`,
        )
      requireName(group.name, verification.domain)
      group.verified = verification.isVerified
      if (verification.kind !== undefined) group.kind = verification.kind
      const updateTime = nextUpdateTime(verification.now, stored.updateTime)
      group.updateTime = timestampFromMs(updateTime)
      yield* replaceResource(operatorAccessFor('stemmad verify'), groups, group, { uid, updateTime })
      return group.name
    })
  } catch (error) {
    if (error instanceof StoreError && error.kind === 'unique')
      throw new UsageError('another organization with this name is verified')
    throw error
  }
}

function requireName(name: string, domain = name): void {
  if (domain === '')
    throw new UsageError(
      `the organization is named ${name}; if it owns this domain, repeat the command with ${name} after the uid`,
    )
  if (domain !== name)
    throw new UsageError(`the organization is named ${JSON.stringify(name)}, not ${domain}`)
}
