// The example organization, in the order in which its people made it. People are named after their work.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { AdvisorySchema, ReviewState } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { builtInRole } from '../../policy/built-in-roles.ts'
import { acceptInvite } from '../../resources/iam/group-invites/accept.ts'
import { bindOwner, createOrganization } from '../../resources/iam/organization.ts'
import { createAdvisory } from '../../resources/vulnerabilities/advisories/write.ts'
import type { Actors } from './actors.ts'
import { pushImage } from './push-image.ts'

export const organizationName = 'northwind'
const address = (work: string) => `${work}@${organizationName}.example`
export const ownerEmail = address('platform-lead')

/** Lets days pass. */
type Wait = (days: number) => void

export async function createExample(actors: Actors, wait: Wait): Promise<void> {
  const owner = await actors.addPerson(ownerEmail)
  const organization = await actors.store.write(function* () {
    const uid = yield* createOrganization(actors.context, organizationName)
    yield* bindOwner(actors.context, uid, owner)
    return uid
  })
  wait(0.1)
  const groups = await makeTree(actors, owner, organization)
  wait(1)
  await addPeople(actors, owner, organization, groups, wait)
  await addWorkloads(actors, owner, groups, wait)
  await releaseImages(actors, groups, wait)
  await reportVulnerabilities(actors, groups, wait)
  await inviteGuests(actors, owner, groups, wait)
}

/** The uids of groups by path. */
type Groups = ReadonlyMap<string, string>

const tree: readonly [path: string, description: string][] = [
  ['platform', 'runs the servers and the pipelines'],
  ['platform/pipelines', 'builds and releases'],
  ['platform/staging', 'the copy for tests'],
  ['platform/production', 'what customers use'],
  ['product', 'the applications'],
  ['product/shop', 'the web shop'],
  ['product/mobile', 'the apps for phones'],
  ['product/data', 'reports and forecasts'],
  ['security', 'reviews and advisories'],
  ['sandbox', 'for experiments'],
]

async function makeTree(actors: Actors, owner: string, organization: string): Promise<Groups> {
  const groups = new Map([['', organization]])
  for (const [path, description] of tree) {
    const at = path.lastIndexOf('/')
    const parent = groupAt(groups, path.slice(0, Math.max(at, 0)))
    const body = { name: path.slice(at + 1), description }
    groups.set(path, (await actors.call(owner, 'POST', `/iam/v2beta1/groups/${parent}`, body)).uid)
  }
  return groups
}

function groupAt(groups: Groups, path: string): string {
  const uid = groups.get(path)
  if (uid === undefined) throw new Error(`the example has no group ${path}`)
  return uid
}

/** A person joins by an invite; the invite decides the role and the group. */
const people: readonly [work: string, role: string, group: string][] = [
  ['release-manager', 'editor', 'platform'],
  ['shop-developer', 'editor', 'product/shop'],
  ['mobile-developer', 'editor', 'product/mobile'],
  ['data-engineer', 'editor', 'product/data'],
  ['security-reviewer', 'viewer', ''],
  ['auditor', 'viewer', 'platform/production'],
]

async function addPeople(actors: Actors, owner: string, organization: string, groups: Groups, wait: Wait) {
  const uids = await Promise.all(people.map(([work]) => actors.addPerson(address(work))))
  // People can be bound in an organization only if they belong to it, so each one accepts an invite.
  for (const [at, [work, role, group]] of people.entries()) {
    const body = { roleUid: builtInRole(role).uid, email: address(work), ttl: '604800s', singleUse: true }
    const parent = groupAt(groups, group)
    const invite = await actors.call(owner, 'POST', `/iam/v2beta1/groupInvites/${parent}`, body)
    wait(0.4)
    const guest = { identity: uids[at] ?? '', email: address(work) }
    const { code } = invite as { uid: string; code: string }
    await actors.store.write(() => acceptInvite(actors.context, code, guest))
  }
  // Refused, and recorded: an editor of one group tries to change another.
  const developer = actors.uidOf(address('shop-developer'))
  const production = groupAt(groups, 'platform/production')
  await actors.send(developer, 'DELETE', `/iam/v2beta1/groups/${production}`)
  await actors.call(owner, 'PATCH', `/iam/v2beta1/groups/${organization}`, {
    description: 'An example organization',
  })
}

async function addWorkloads(actors: Actors, owner: string, groups: Groups, wait: Wait): Promise<void> {
  const deployer = await actors.call(owner, 'POST', `/iam/v2beta1/roles/${groupAt(groups, 'platform')}`, {
    ...{ name: 'deployer', description: 'Reads groups and repos, and pushes tags' },
    capabilities: [
      'CAP_IAM_GROUPS_LIST',
      'CAP_REPO_LIST',
      'CAP_TAG_LIST',
      'CAP_TAG_CREATE',
      'CAP_TAG_UPDATE',
    ],
  })
  const push = builtInRole('registry.push').uid
  const workloads: readonly [
    name: string,
    group: string,
    issuer: string,
    subject: string,
    role: string,
    roleGroup: string,
  ][] = [
    [
      'release-bot',
      'platform/pipelines',
      'https://token.actions.githubusercontent.com',
      `repo:${organizationName}/shop:ref:refs/heads/main`,
      push,
      'product',
    ],
    [
      'deploy-bot',
      'platform/pipelines',
      'https://gitlab.com',
      `project_path:${organizationName}/deploy:ref_type:branch:ref:main`,
      deployer.uid,
      'platform',
    ],
    [
      'staging-cluster',
      'platform/staging',
      'https://kubernetes.staging.northwind.example',
      'system:serviceaccount:apps:puller',
      builtInRole('registry.pull').uid,
      'platform/staging',
    ],
  ]
  for (const [name, group, issuer, subject, roleUid, roleGroup] of workloads) {
    wait(0.3)
    const identity = await actors.call(owner, 'POST', `/iam/v2beta1/identities/${groupAt(groups, group)}`, {
      ...{ name, claimMatch: { issuer, subject } },
    })
    const parent = groupAt(groups, roleGroup)
    await actors.call(owner, 'POST', `/iam/v2beta1/roleBindings/${parent}`, {
      identityUid: identity.uid,
      roleUid,
    })
  }
}

const images: readonly [group: string, repo: string, description: string, versions: string[]][] = [
  ['product/shop', 'storefront', 'The web shop', ['v1.0.0', 'v1.1.0', 'v1.2.0']],
  ['product/shop', 'checkout', 'Takes payments', ['v0.9.0', 'v1.0.0']],
  ['product/data', 'forecast', 'Predicts demand', ['v2.3.1']],
  ['platform/pipelines', 'builder', 'Builds all images', ['v5.0.0', 'v5.1.0']],
]

async function releaseImages(actors: Actors, groups: Groups, wait: Wait): Promise<void> {
  const owner = actors.uidOf(ownerEmail)
  for (const [group, repo, description, versions] of images) {
    const body = { name: repo, description }
    const parent = groupAt(groups, group)
    const { uid } = await actors.call(owner, 'POST', `/registry/v2beta1/repos/${parent}`, body)
    const content = readmeOf(repo, description, versions.at(-1) ?? 'latest')
    await actors.call(owner, 'PATCH', `/registry/v2beta1/repos/${uid}/readme`, { content })
    for (const version of versions) {
      wait(0.6)
      await pushImage(actors, owner, {
        ...{ repo: `${organizationName}/${group}/${repo}`, tags: [version, 'latest'] },
        ...{ image: { name: repo, version }, time: actors.context.now() },
      })
    }
  }
}

const readmeOf = (repo: string, description: string, version: string) => `# ${repo}

${description}. Built for \`linux/amd64\` and \`linux/arm64\`, without a shell, as user 65532.

| Tag | Meaning |
|---|---|
| \`latest\` | the last release |
| \`${version}\` | one release, never moved |

## Settings

- \`TZ\`: the time zone, \`UTC\` unless it is set
`

async function reportVulnerabilities(actors: Actors, groups: Groups, wait: Wait): Promise<void> {
  const author = address('security-reviewer')
  const reports: readonly [artifactName: string, alias: string, fixedVersion: string][] = [
    ['openssl', 'CVE-2026-10001', '3.5.1-r0'],
    ['zlib', 'CVE-2026-10002', '1.3.2-r0'],
    ['curl', 'CVE-2026-10003', '8.15.0-r1'],
  ]
  for (const [artifactName, alias, fixedVersion] of reports) {
    wait(0.5)
    const createTime = timestampFromMs(actors.context.now())
    const advisory = create(AdvisorySchema, {
      ...{ author, artifactName, artifactType: 'apk', aliases: [alias] },
      events: [
        {
          ...{ author, reviewState: ReviewState.APPROVED, createTime },
          type: { case: 'fixed', value: { fixedVersion } },
        },
      ],
    })
    await actors.store.write(() => createAdvisory(actors.context, groupAt(groups, 'security'), advisory))
  }
}

async function inviteGuests(actors: Actors, owner: string, groups: Groups, wait: Wait): Promise<void> {
  // These invites are created at the end of the example's time, so that they are still valid when the demo starts.
  wait(21)
  for (const [group, role, ttl, email] of [
    ['product/mobile', 'viewer', '86400s', address('contractor')],
    ['sandbox', 'editor', '1209600s', ''],
  ] as const)
    await actors.call(owner, 'POST', `/iam/v2beta1/groupInvites/${groupAt(groups, group)}`, {
      ...{ roleUid: builtInRole(role).uid, ttl, email },
    })
}
