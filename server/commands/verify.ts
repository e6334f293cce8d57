// What only the operator says of an organization: that it owns the domain it is named after, and of what kind
// it is.

import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { OrgKind } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { isUid, parentOf } from '../aip/uid.ts'
import { readConfig } from '../config/config.ts'
import { operatorAccess } from '../policy/system-access.ts'
import { groups } from '../resources/iam/groups/table.ts'
import { lockResource, nextUpdateTime, replaceResource } from '../resources/stored-resource.ts'
import { openStore, prepareStore } from '../storage.ts'
import type { Store } from '../store/db.ts'
import { StoreError } from '../store/store-error.ts'
import type { Command } from './command.ts'
import { UsageError } from './command.ts'

const kinds: { [word: string]: OrgKind } = {
  starter: OrgKind.STARTER,
  customer: OrgKind.CUSTOMER,
  dev: OrgKind.DEV,
  infra: OrgKind.INFRA,
  'aws-marketplace': OrgKind.AWS_MARKETPLACE,
}

export const verify: Command = {
  usage: 'verify ORGANIZATION_UID [--kind KIND] [--undo]',
  about: `Says that an organization owns the domain it is named after. KIND is ${Object.keys(kinds).join(', ')}.`,
  async run(args) {
    const own = { kind: { type: 'string' }, undo: { type: 'boolean' } } as const
    const { config, flags, rest } = readConfig(process.env, args, own)
    const [uid, ...more] = rest
    if (uid === undefined || more.length > 0 || !isUid(uid))
      throw new UsageError(`Usage: stemmad ${verify.usage}`)
    const kind = flags.kind === undefined ? undefined : kinds[String(flags.kind)]
    if (flags.kind !== undefined && kind === undefined)
      throw new UsageError(`--kind must be one of ${Object.keys(kinds).join(', ')}`)
    const store = openStore(config)
    try {
      await prepareStore(config, store)
      const isVerified = flags.undo !== true
      const name = await verifyOrganization(store, uid, { isVerified, kind, now: Date.now() })
      process.stdout.write(isVerified ? `${name} is verified.\n` : `${name} is no longer verified.\n`)
      return 0
    } finally {
      await store.close()
    }
  },
}

export type Verdict = { isVerified: boolean; kind?: OrgKind | undefined; now: number }

const domain = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/

/** Answers the organization's name. */
export async function verifyOrganization(store: Store, uid: string, verdict: Verdict): Promise<string> {
  try {
    return await store.write(function* () {
      const stored = yield* lockResource(groups, uid)
      if (!stored || parentOf(uid) !== '') throw new UsageError(`there is no organization ${uid}`)
      const group = stored.resource
      if (verdict.isVerified && !domain.test(group.name))
        throw new UsageError(
          `an organization is verified under the name of its domain, such as example.com; this one is named ${JSON.stringify(group.name)}`,
        )
      group.verified = verdict.isVerified
      if (verdict.kind !== undefined) group.kind = verdict.kind
      const updateTime = nextUpdateTime(verdict.now, stored.updateTime)
      group.updateTime = timestampFromMs(updateTime)
      yield* replaceResource(operatorAccess, groups, group, { uid, updateTime })
      return group.name
    })
  } catch (error) {
    if (error instanceof StoreError && error.kind === 'unique')
      throw new UsageError('another organization is verified under this name')
    throw error
  }
}
