// The contents of the store: an organization for each well-behaved client, and one that belongs to the attackers.
import { randomBytes } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RepoSchema } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import type { ForeignIssuer } from '../../e2e/sign-in/foreign-issuer.ts'
import { newChildUid } from '../../server/aip/uid.ts'
import type { KeyRing } from '../../server/auth/keys/key-ring.ts'
import type { Config } from '../../server/config/config.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { createEntry } from '../../server/resources/create.ts'
import { groups } from '../../server/resources/iam/groups/table.ts'
import { identities } from '../../server/resources/iam/identities/table.ts'
import { repos } from '../../server/resources/registry/repos/table.ts'
import type { Store } from '../../server/store/db.ts'
import type { TestIdentities } from '../../server/testing/identities.ts'
import { openTestIdentities } from '../../server/testing/identities.ts'
import { importAdvisories } from '../cases/advisories.ts'
import { createGroups } from '../stores/bench-server.ts'
import type { AttackerTenant, Tenant, Workload } from './tenant.ts'

const groupCount = 200
/**
 * The response of v1 that lists this many large groups has 12 MB, more than fits into the buffers between server and
 * client.
 */
const largeGroupCount = 6000
const largeDescription = '😀'.repeat(512)
const attackerIdentityCount = 8
/** As many as an identity may have. */
const bindingCount = 1000
const advisoryCount = 20_000

const newUid = (parent: string) => newChildUid(parent, Date.now(), randomBytes)

export function openTenants(store: Store, config: Config, keys: KeyRing) {
  const people = openTestIdentities({ store, config, keys, now: Date.now })

  async function addTenant(name: string): Promise<Tenant> {
    const { organization, token } = await people.addOrganization(name)
    const group = await createGroups(store, organization, groupCount)
    return { organization, group, authorization: `Bearer ${token}` }
  }

  return {
    addTenant,

    async addWorkload(issuer: ForeignIssuer): Promise<Workload> {
      const { organization } = await people.addOrganization('workload')
      const uid = newUid(organization)
      const claimMatch = {
        iss: { case: 'issuer', value: issuer.issuer } as const,
        sub: { case: 'subject', value: 'robot' } as const,
      }
      const relationship = { case: 'claimMatch', value: claimMatch } as const
      const draft = create(IdentitySchema, { name: 'robot', relationship })
      await store.write(() => createEntry(operatorAccess, identities, draft, { uid, now: Date.now() }))
      const exp = Math.floor(Date.now() / 1000) + tokenSeconds
      return { identity: uid, authorization: `Bearer ${await issuer.sign({ aud: config.baseUrl, exp })}` }
    },

    async addAttackers(victim: Workload): Promise<AttackerTenant> {
      const tenant = await addTenant('attackers')
      const { organization } = tenant
      const large = await createLargeGroups(store, organization)
      await importAdvisories(advisoryCount)(store, organization)
      return {
        ...{ ...tenant, victim, repo: await createRepo(store, organization) },
        members: await Promise.all(
          Array.from({ length: attackerIdentityCount }, async () => {
            const { token } = await people.addIdentity(organization, 'owner')
            return `Bearer ${token}`
          }),
        ),
        memberOfManyGroups: await addMemberOfAll(people, organization, large.slice(0, bindingCount)),
      }
    },
  }
}

/** Issuers' tokens must stay valid during the longest run. */
const tokenSeconds = 2 * 3600

function createLargeGroups(store: Store, organization: string): Promise<string[]> {
  const group = create(GroupSchema, { name: 'large', description: largeDescription })
  return store.write(function* () {
    const uids = Array.from({ length: largeGroupCount }, () => newUid(organization))
    for (const uid of uids) yield* createEntry(operatorAccess, groups, group, { uid, now: Date.now() })
    return uids
  })
}

async function createRepo(store: Store, organization: string): Promise<string> {
  const uid = newUid(organization)
  const repo = create(RepoSchema, { name: 'app' })
  await store.write(() =>
    createEntry(operatorAccess, repos, repo, {
      uid,
      now: Date.now(),
      columns: { readme: '', retention_time: 0, public_since: 0 },
    }),
  )
  return uid
}

async function addMemberOfAll(people: TestIdentities, organization: string, uids: string[]): Promise<string> {
  const { identity, token } = await people.addIdentity(organization)
  for (const uid of uids) await people.bind(identity, 'viewer', uid)
  return `Bearer ${token}`
}
