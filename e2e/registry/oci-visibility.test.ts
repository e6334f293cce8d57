// The registry shows every caller of a random world exactly the content that the rules allow
// (oci-rules.ts). It does not reveal whether other content exists: a request for it is answered
// like one for content that does not exist.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { onEachStore } from '../../server/testing/stores.ts'
import type { Drawn, Plan, World } from '../iam/world.ts'
import { anyIndex, anyPlan, isWithin, organizationOf, parentOf, pick, uidGenerator } from '../iam/world.ts'
import type { WorldPlatform } from '../iam/world-platform.ts'
import { startWorldPlatform } from '../iam/world-platform.ts'
import type { ContentWorld } from './content-world.ts'
import { anyContent, pathOf, pushContent } from './content-world.ts'
import type { OciClient } from './oci-client.ts'
import { digestOf, ociClient } from './oci-client.ts'
import type { Operation, Target } from './oci-rules.ts'
import { operations } from './oci-rules.ts'

/** Capabilities of custom roles: those that the registry asks for, and some that must not make anything visible. */
const capabilities = [
  ...['tag.list', 'manifest.list', 'repo.blobs.get', 'referrers.list', 'manifest.create', 'manifest.delete'],
  ...['repo.list', 'groups.list', 'tag.create'],
]

/** A caller without credentials. */
const nobody = ''

const byName: Readonly<Record<string, Operation>> = operations

const anyStep = fc.record({
  caller: anyIndex,
  // Mounts are drawn more often: most are refused because of the target, whatever the source is.
  operation: fc.constantFrom(
    ...Object.keys(operations),
    'mount',
    'mount',
    'mount',
    'pushManifest',
    'listReferrers',
  ),
  repo: anyIndex,
  /** Whether the repo is one that the caller may push to, if there is one. */
  isOwn: fc.boolean(),
  /** Whether the path has the names of the tree instead of the uid. */
  isNamed: fc.boolean(),
  blob: anyIndex,
  manifest: anyIndex,
  tag: fc.nat({ max: 3 }),
  source: fc.option(anyIndex, { freq: 2 }),
})

type Step = Drawn<typeof anyStep>

/** A world with several repos, between which blobs can be mounted. */
const anyRepos = fc.array(anyIndex, { minLength: 4, maxLength: 10, size: 'max' })

/** Resources that the registry does not read would only make the test slower. */
const withoutOthers = ([plan, repos]: [Plan, number[]]): Plan => ({
  ...plan,
  ...{ repos, plain: [], advisories: [], providers: [], mappings: [], associations: [], invites: [] },
  accessRequests: [],
})

/**
 * Adds an owner for each organization, who may do everything there, and `pusher`, an owner of all
 * of them. Makes every fourth repo public.
 */
const withOwners =
  (pusher: string, { newRoot, newChild }: ReturnType<typeof uidGenerator>) =>
  (world: World) => {
    const owner = world.roles.find(({ capabilities }) => capabilities.has('manifest.create'))
    assert.ok(owner)
    const organizations = [...new Set(world.groups.map(organizationOf))]
    const owned = organizations.flatMap((group) =>
      [pusher, newRoot()].map((identity) => ({ identity, group })),
    )
    return {
      ...world,
      publicRepos: new Set(world.repos.filter((_, at) => at % 4 === 1)),
      users: [...new Set([...world.users, ...owned.map(({ identity }) => identity)])],
      bindings: [
        ...world.bindings,
        ...owned.map(({ identity, group }) => ({ uid: newChild(group), identity, role: owner, group })),
      ],
    }
  }

const holds = ({ bindings }: World, caller: string, needed: readonly string[], uid: string) =>
  needed.every((capability) =>
    bindings.some(
      ({ identity, role, group }) =>
        identity === caller && role.capabilities.has(capability) && isWithin(uid, group),
    ),
  )

/**
 * Everything that a client can see of a response, without what differs between any two responses.
 * The `connection` header differs because it depends on how much of the body has arrived.
 */
async function seen(response: Response, { name, source = name }: Target): Promise<string> {
  const headers = [...response.headers]
    .filter(([field]) => !['date', 'x-request-id', 'docker-upload-uuid', 'connection'].includes(field))
    .map(([field, value]) => `${field}: ${value}`)
  const text = [response.status, ...headers, await response.text()].join('\n')
  return text
    .replaceAll(name, '(name)')
    .replaceAll(source, '(source)')
    .replaceAll(/uploads\/[0-9a-f]{32}/g, 'uploads/(id)')
    .replaceAll(/sha256:[0-9a-f]{64}/g, '(digest)')
}

/** The content and the callers to which the steps of one run refer. */
type Scene = {
  world: World
  content: ContentWorld
  blobs: string[]
  manifests: string[]
  config: string
  newChild(parent: string): string
}

onEachStore('the registry of a random tree', (engine) => {
  let setUp: WorldPlatform
  before(async () => {
    setUp = await startWorldPlatform(engine, ['--public-repos', 'on'])
  })
  after(() => setUp.stop())

  const clientOf = async (identity: string) =>
    ociClient(setUp.platform.url, identity === nobody ? '' : await setUp.platform.tokenOf(identity))

  async function takeStep(scene: Scene, step: Step, caller: string, client: OciClient): Promise<string[]> {
    const { world, content, newChild } = scene
    const operation = byName[step.operation] as Operation // one of its keys
    const own = step.isOwn ? world.repos.filter((uid) => holds(world, caller, ['manifest.create'], uid)) : []
    const repo =
      pick(own, step.repo) ?? pick([...world.repos, newChild(world.groups[0] ?? '')], step.repo) ?? ''
    const isNamed = step.isNamed && content.has(repo)
    const nameOf = (uid: string) => (isNamed ? pathOf(world, uid) : uid)
    // The source is never the repo itself. Otherwise the WWW-Authenticate header would name one scope,
    // but two scopes for the twin with an invented source.
    const others = world.repos.filter((uid) => uid !== repo)
    const sourceRepo = step.source === null ? undefined : pick(others, step.source)
    // Mostly a blob that the source has, so that only access decides.
    const ofSource = [...(content.get(sourceRepo ?? '')?.blobs.values() ?? [])]
    const target: Target = {
      ...{
        name: nameOf(repo),
        blob: pick([...ofSource, ...ofSource, ...scene.blobs], step.blob) ?? scene.config,
        config: scene.config,
      },
      ...{
        manifest: pick(scene.manifests, step.manifest) ?? digestOf('none'),
        tag: pick(tagNames, step.tag) ?? '',
      },
      source: sourceRepo && nameOf(sourceRepo),
    }
    const isAllowed =
      holds(world, caller, operation.capabilities, repo) ||
      (operation.isPull === true && world.publicRepos?.has(repo) === true)
    const sources = sourceRepo === undefined ? world.repos : [sourceRepo]
    const mayMount = sources.some(
      (uid) =>
        holds(world, caller, ['repo.blobs.get'], uid) && content.get(uid)?.blobs.has(digestOf(target.blob)),
    )
    const refusal = { status: caller === nobody ? 401 : 403 }
    const expected: ReturnType<Operation['answer']> = isAllowed
      ? answerOf(operation, content, repo, target, mayMount)
      : refusal
    const response = await operation.send(client, target)
    const body = await response.clone().text()
    const what = `${step.operation} by ${caller}, ${JSON.stringify(target)}`
    if (response.status !== expected.status)
      return [`${what}: answers ${response.status} and not ${expected.status}: ${body}`]
    if (expected.body !== undefined && body !== expected.body)
      return [`${what}: shows ${body} and not ${expected.body}`]
    await discardUpload(client, response)
    const answer = await seen(response, target)
    const twins = twinsOf(operation, scene, { target, repo, isNamed, isAllowed, mayMount })
    const faults: string[] = []
    for (const twin of twins) {
      const other = await operation.send(client, twin)
      await discardUpload(client, other)
      const otherAnswer = await seen(other, twin)
      if (otherAnswer !== answer)
        faults.push(`${what}: is answered\n${answer}\nbut ${JSON.stringify(twin)}\n${otherAnswer}`)
      if (operation === operations.pushBlob && isAllowed)
        content.get(repo)?.blobs.set(digestOf(twin.blob), twin.blob)
    }
    expected.apply?.()
    return faults
  }

  const tagNames = ['v0', 'v1', 'v2', 'tag-0']

  function answerOf(
    operation: Operation,
    content: ContentWorld,
    uid: string,
    target: Target,
    mayMount: boolean,
  ): ReturnType<Operation['answer']> {
    const repo = content.get(uid)
    return repo ? operation.answer(repo, target, mayMount) : (operation.withoutRepo ?? { status: 404 })
  }

  type Situation = { target: Target; repo: string; isNamed: boolean; isAllowed: boolean; mayMount: boolean }

  /** Requests for things that do not exist, which must be answered like the request of the situation. */
  function twinsOf(operation: Operation, { content, newChild }: Scene, situation: Situation): Target[] {
    const { target, repo, isNamed, isAllowed, mayMount } = situation
    const stored = content.get(repo)
    const isBlind = !isAllowed || (stored && operation.isBlind(stored, target, mayMount))
    if (!isBlind) return []
    const invented = newChild('').slice(1)
    const inventedContent = {
      ...{ blob: invented.padEnd(target.blob.length), manifest: digestOf(invented) },
    }
    const twins: Target[] = [{ ...target, ...inventedContent }]
    if (!mayMount && target.source !== undefined)
      twins.push({ ...target, source: `${parentOf(target.source)}/${invented}` })
    // A push to a name without a repo may create the repo.
    if (!isAllowed && !(isNamed && operation.isPush))
      twins.push({
        ...target,
        name: isNamed ? target.name.replace(/repo-(\d+)$/, 'none-$1') : newChild(parentOf(repo)),
      })
    return twins
  }

  async function discardUpload(client: OciClient, response: Response): Promise<void> {
    const location = response.headers.get('location')
    if (response.status === 202 && location) await client.expect(204, 'DELETE', location)
  }

  test('lists, pulls, mounts and stores exactly what the rules allow, and reveals nothing else', async () => {
    const property = fc.asyncProperty(
      fc.tuple(anyPlan(capabilities), anyRepos).map(withoutOthers),
      anyContent,
      fc.array(anyStep, { minLength: 40, maxLength: 60, size: 'max' }),
      async (plan, images, steps) => {
        const uids = uidGenerator(-1 - plan.salt)
        const pusher = uids.newRoot()
        const world = await setUp.load(plan, withOwners(pusher, uids))
        const content = await pushContent(await clientOf(pusher), world, images, plan.salt)
        const repos = [...content.values()]
        const scene: Scene = {
          ...{ world, content, newChild: uids.newChild, config: `{"salt":${plan.salt}}` },
          blobs: [...new Set(repos.flatMap(({ blobs }) => [...blobs.values()]))],
          manifests: [...new Set(repos.flatMap(({ manifests }) => [...manifests.keys()]))],
        }
        const identities = [...world.users, ...world.workloads, nobody]
        const clients = new Map<string, OciClient>()
        for (const step of steps) {
          const caller = pick(identities, step.caller) ?? ''
          const client = clients.get(caller) ?? (await clientOf(caller))
          clients.set(caller, client)
          const faults = await takeStep(scene, step, caller, client)
          assert.equal(faults.length, 0, faults.join('\n'))
        }
      },
    )
    // Unbiased, because fast-check otherwise prefers small values, and there are few runs. The text of a failure says
    // which request failed; to look for a smaller world would take minutes.
    await fc.assert(property, { numRuns: 3, unbiased: true, endOnFailure: true })
  })
})
