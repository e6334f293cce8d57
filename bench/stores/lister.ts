// Lists groups in this process, from the corridor to the store and back, without HTTP.
import { randomBytes } from 'node:crypto'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { GroupsService, ListGroupsRequestSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { openPageSeals } from '../../server/aip/page-token.ts'
import { openChecks } from '../../server/checks.ts'
import { readConfig } from '../../server/config/config.ts'
import { contentStorage } from '../../server/content-storage.ts'
import { noLimits } from '../../server/limits/rate/call-limits.ts'
import { openGrantParser } from '../../server/policy/grants.ts'
import { groupsResource } from '../../server/resources/iam/groups/resource.ts'
import { openIdempotency } from '../../server/resources/idempotency/idempotency.ts'
import { withStatusErrors } from '../../server/resources/store-errors.ts'
import { openCorridor } from '../../server/rpc/corridor.ts'
import { openDeadlines } from '../../server/rpc/deadline.ts'
import { noUnsentBudget } from '../../server/rpc/unsent-budget.ts'
import { groupLimitsOf, settingsOf } from '../../server/settings.ts'
import { openStore, prepareStore } from '../../server/storage.ts'
import { testEnvelope } from '../../server/testing/envelope.ts'
import type { HugeStore } from './huge.ts'

export type ListRequest = MessageInitShape<typeof ListGroupsRequestSchema>

export type Lister = {
  /** The response as JSON. */
  list(request: ListRequest): Promise<string>
  close(): Promise<void>
}

export async function openLister({ settings, identity }: HugeStore): Promise<Lister> {
  const { config } = readConfig({}, settings)
  const store = openStore(config)
  const { keys, secret } = await prepareStore(config, store)
  const deps = {
    store: withStatusErrors(store),
    pageSeals: openPageSeals(keys.page, Date.now, randomBytes),
    now: Date.now,
    random: randomBytes,
    settings: settingsOf(config, secret, groupLimitsOf(config)),
    checks: openChecks(),
    idempotency: openIdempotency({ secret, now: Date.now }),
    maxListRows: undefined,
    validatesOnly: false,
    content: contentStorage(config),
    recordPull: () => {}, // lists pull nothing
  }
  const { listGroups } = groupsResource.methods(deps)
  const endpoint = { method: describeMethod(GroupsService.method.listGroups), handler: listGroups }
  const caller = { identity, issuedAt: Math.floor(Date.now() / 1000) }
  const corridor = openCorridor({
    authenticate: () => caller,
    report: () => {},
    deadlines: openDeadlines(Date.now),
    parseGrants: openGrantParser(),
    now: Date.now,
    random: randomBytes,
    defaultLimits: new Map(),
    clock: () => performance.now(),
    unsent: noUnsentBudget,
    limits: noLimits,
  })
  return {
    async list(request) {
      const reply = await corridor(endpoint, testEnvelope, () => create(ListGroupsRequestSchema, request))
      return reply.json().text
    },
    close: () => store.close(),
  }
}
