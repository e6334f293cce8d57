// Attacks on trust between identities. Identity A trusts identity B if the claim match of A accepts tokens that this
// server issues to B. A caller who can change the claim match of B could then act as A.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { JsonObject } from '@bufbuild/protobuf'
import { create, fromJson } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService, IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { newChildUid } from '@stemma/server/aip/uid.ts'
import { builtInRoles } from '@stemma/server/policy/built-in-roles.ts'
import { identities } from '@stemma/server/resources/iam/identities/table.ts'
import { roleBindings } from '@stemma/server/resources/iam/role-bindings/table.ts'
import { createMany } from '@stemma/server/testing/create-many.ts'
import type { TestIdentity } from '@stemma/server/testing/identities.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make } from '../contract/examples.ts'

const { createGroup } = GroupsService.method
const { createIdentity, updateIdentity } = IdentitiesService.method

/** The issuer of this server. */
const issuer = 'http://stemma.test'
const ciIssuer = 'https://ci.test'

type Team = { team: string; robot: string; admin: TestIdentity }

/** A team with an identity, and somebody who may create and update identities in the team and nothing else. */
async function makeTeam(stage: ExampleContext): Promise<Team> {
  const { organization } = stage.owner
  const team = await make(stage, createGroup, { parent: organization, group: { name: 'team' } })
  const robot = await makeIdentity(stage, team, { issuer: ciIssuer, subject: 'robot' })
  const admin = await stage.platform.addIdentityWith(team, [
    'CAP_IAM_IDENTITY_CREATE',
    'CAP_IAM_IDENTITY_UPDATE',
  ])
  return { team, robot, admin }
}

const makeIdentity = (stage: ExampleContext, parent: string, claimMatch: JsonObject) =>
  make(stage, createIdentity, { parent, identity: { name: 'robot', claimMatch } })

/** An identity of another organization. */
async function makePartner(stage: ExampleContext, claimMatch: JsonObject) {
  const { organization, token } = await stage.platform.addOrganization('partner')
  const identity = { name: 'partner', claimMatch }
  const { uid } = await stage.succeed(createIdentity, { parent: organization, identity }, token)
  return { organization, identity: uid as string }
}

/** Returns the uids of the new identities. */
async function writeIdentities({ platform }: ExampleContext, parent: string, claimMatches: JsonObject[]) {
  const uids = claimMatches.map(() => newChildUid(parent, Date.now(), randomBytes))
  await platform.store.write(() =>
    createMany(
      identities,
      claimMatches.map((claimMatch, at) => [
        fromJson(IdentitySchema, { name: 'robot', claimMatch }),
        { uid: uids[at] ?? '', now: Date.now() },
      ]),
    ),
  )
  return uids
}

const change = (uid: string) => ({ identity: { uid, claimMatch: { subject: 'mine' } } })

/** Claim matches that trust the robot, by the way in which they identify it. */
const trusting: Record<string, (robot: string, team: string) => JsonObject> = {
  'its uid': (robot) => ({ issuer, subject: robot }),
  'a pattern for its uid': (robot) => ({ issuer, subjectPattern: `(?:${robot})+` }),
  'a pattern for its team': (_, team) => ({ issuer, subjectPattern: `${team}/.+` }),
  'a pattern with alternatives': (robot) => ({ issuer, subjectPattern: `(${'0'.repeat(40)}|${robot})` }),
  'a pattern for everybody': () => ({ issuer, subjectPattern: '.+' }),
  'a pattern for our issuer': (robot) => ({
    issuerPattern: 'http://stemma\\.(test|example)',
    subject: robot,
  }),
  'two patterns': () => ({ issuerPattern: 'http://stemma\\.(test|example)', subjectPattern: '[0-9a-f/]+' }),
  'its uid and an audience': (robot) => ({ issuer, subject: robot, audience: issuer }),
  'its uid and a claim that every token has': (robot) => ({
    issuer,
    subject: robot,
    claims: { client_id: 'stemmad' },
  }),
}

const creationIn = (team: string) => ({
  parent: team,
  identity: { name: 'new', claimMatch: { issuer: ciIssuer, subject: 'new' } },
})

examples('an administrator of identities in a team', {
  ...Object.fromEntries(
    Object.entries(trusting).map(([way, claimMatchOf]) => [
      `cannot take over an identity that trusts an identity of the team by ${way}`,
      async (stage: ExampleContext) => {
        const { team, robot, admin } = await makeTeam(stage)
        const deployer = await makeIdentity(stage, stage.owner.organization, claimMatchOf(robot, team))
        await stage.succeed(updateIdentity, change(robot), admin.token)
        await stage.platform.bind(deployer, 'editor', stage.owner.organization)
        const error = await stage.fail(
          updateIdentity,
          { identity: { uid: robot, claimMatch: { subject: 'x' } } },
          admin.token,
        )
        assert.equal(error.code, 7)
        await stage.succeed(
          updateIdentity,
          { identity: { uid: robot, description: 'harmless' } },
          admin.token,
        )
        await stage.succeed(updateIdentity, { identity: { uid: robot, claimMatch: { subject: 'x' } } })
      },
    ]),
  ),

  async 'cannot take over an identity that trusts an identity of the team through other identities'(stage) {
    const { platform, owner } = stage
    const { team, robot, admin } = await makeTeam(stage)
    const elsewhere = await platform.addOrganization('elsewhere')
    const first = await makeIdentity(stage, team, { issuer, subject: robot })
    const { uid: second } = await stage.succeed(
      createIdentity,
      {
        parent: elsewhere.organization,
        identity: { name: 'second', claimMatch: { issuer, subjectPattern: `${first}|x` } },
      },
      elsewhere.token,
    )
    const third = await makeIdentity(stage, owner.organization, { issuer, subject: second as string })
    await stage.succeed(updateIdentity, change(robot), admin.token)
    await platform.bind(third, 'viewer', owner.organization)
    for (const uid of [robot, first]) {
      const request = { identity: { uid, claimMatch: { issuer: ciIssuer, subject: 'x' } } }
      assert.equal((await stage.fail(updateIdentity, request, admin.token)).code, 7)
    }
    // The search for trusting identities ends even if two identities trust each other.
    await stage.succeed(updateIdentity, { identity: { uid: robot, claimMatch: { issuer, subject: third } } })
    await stage.succeed(updateIdentity, { identity: { uid: robot, claimMatch: { issuer, subject: first } } })
  },

  async 'can change an identity of the team that only identities of other organizations trust'(stage) {
    const { team, robot, admin } = await makeTeam(stage)
    for (const claimMatchOf of Object.values(trusting)) {
      const stranger = await makePartner(stage, claimMatchOf(robot, team))
      await stage.platform.bind(stranger.identity, 'viewer', stranger.organization)
    }
    await stage.succeed(updateIdentity, change(robot), admin.token)
  },

  async 'cannot take over an identity that belongs to another organization and has a role in this one'(
    stage,
  ) {
    const { platform, owner } = stage
    const { team, robot, admin } = await makeTeam(stage)
    for (const [way, claimMatchOf] of Object.entries(trusting)) {
      const partner = await makePartner(stage, claimMatchOf(robot, team))
      await platform.bind(partner.identity, 'viewer', owner.organization)
      const takeover = { identity: { uid: robot, claimMatch: { subject: `mine, by ${way}` } } }
      const error = await stage.fail(updateIdentity, takeover, admin.token)
      assert.equal(error.code, 7, way)
      assert.ok(!JSON.stringify(error).includes(partner.organization))
      await platform.unbind(partner.identity)
      await stage.succeed(updateIdentity, takeover, admin.token)
    }
  },

  async 'cannot create an identity that is trusted by an identity of another organization with a role in this one'(
    stage,
  ) {
    const { platform, owner } = stage
    const { team, admin } = await makeTeam(stage)
    const creation = creationIn(team)
    const subjectPatterns = [
      `${team}/.+`,
      `(${team}/.+|${'0'.repeat(40)}/.+)`,
      `${owner.organization}/.+|${'0'.repeat(40)}|${'1'.repeat(40)}`,
      '.+',
    ]
    for (const subjectPattern of subjectPatterns) {
      const partner = await makePartner(stage, { issuer, subjectPattern })
      await stage.succeed(createIdentity, creation, admin.token)
      await platform.bind(partner.identity, 'editor', owner.organization)
      const error = await stage.fail(createIdentity, creation, admin.token)
      assert.equal(error.code, 7, subjectPattern)
      assert.ok(!JSON.stringify(error).includes(partner.organization))
      await stage.succeed(createIdentity, creation)
      await platform.unbind(partner.identity)
    }
  },

  async 'cannot create an identity that is trusted, through an identity of the team, by an identity of another organization with a role in this one'(
    stage,
  ) {
    const { platform, owner } = stage
    const { team, admin } = await makeTeam(stage)
    const creation = creationIn(team)
    const first = await makeIdentity(stage, team, { issuer, subjectPattern: `${team}/.+` })
    const partner = await makePartner(stage, { issuer, subjectPattern: `${'0'.repeat(40)}|${first}` })
    await stage.succeed(createIdentity, creation, admin.token)
    await platform.bind(partner.identity, 'editor', owner.organization)
    assert.equal((await stage.fail(createIdentity, creation, admin.token)).code, 7)
  },

  async 'can create and change identities while identities of other organizations that trust none of them have roles'(
    stage,
  ) {
    const { platform, owner } = stage
    const { team, robot, admin } = await makeTeam(stage)
    for (const claimMatch of [
      { issuer: ciIssuer, subject: 'partner' },
      { issuer, subjectPattern: `${'0'.repeat(40)}/.+` },
      { issuer, subjectPattern: '.+', claimPatterns: { email: '.+@example\\.com' } },
    ]) {
      const partner = await makePartner(stage, claimMatch)
      await platform.bind(partner.identity, 'owner', owner.organization)
    }
    await stage.succeed(updateIdentity, change(robot), admin.token)
    const identity = { name: 'new', claimMatch: { issuer: ciIssuer, subject: 'new' } }
    await stage.succeed(createIdentity, { parent: team, identity }, admin.token)
  },

  async 'cannot take over an identity that belongs to this organization and has a role in another one'(
    stage,
  ) {
    const { platform, owner } = stage
    const { robot, admin } = await makeTeam(stage)
    const partner = await platform.addOrganization('partner')
    const deployer = await makeIdentity(stage, owner.organization, { issuer, subject: robot })
    await platform.bind(deployer, 'viewer', partner.organization)
    const error = await stage.fail(updateIdentity, change(robot), admin.token)
    assert.equal(error.code, 7)
    assert.ok(!JSON.stringify(error).includes(partner.organization))
    const organizationAdmin = await platform.addIdentityWith(owner.organization, ['CAP_IAM_IDENTITY_UPDATE'])
    await stage.succeed(updateIdentity, change(robot), organizationAdmin.token)
  },

  async 'cannot create an identity that an identity with more capabilities trusts by a pattern'(stage) {
    const { team, admin } = await makeTeam(stage)
    const deployer = await makeIdentity(stage, stage.owner.organization, {
      issuer,
      subjectPattern: `${team}/.+`,
    })
    const identity = { name: 'new', claimMatch: { issuer: ciIssuer, subject: 'new' } }
    await stage.succeed(createIdentity, { parent: team, identity }, admin.token)
    await stage.platform.bind(deployer, 'editor', stage.owner.organization)
    assert.equal((await stage.fail(createIdentity, { parent: team, identity }, admin.token)).code, 7)
    await stage.succeed(createIdentity, { parent: team, identity })
  },

  async 'cannot take over an identity that trusts an identity of the team, even among many decoys'(stage) {
    const { platform, owner } = stage
    const { robot, admin } = await makeTeam(stage)
    const stranger = await platform.addOrganization('stranger')
    // Tokens of workloads have no e-mail address.
    const decoy = { issuer, subject: robot, claims: { email: 'x@example.com' } }
    const writeDecoys = (count: number) =>
      writeIdentities(stage, stranger.organization, Array(count).fill(decoy))
    await writeDecoys(60)
    await stage.succeed(updateIdentity, change(robot), admin.token)
    const deployer = await makeIdentity(stage, owner.organization, { issuer, subject: robot })
    await platform.bind(deployer, 'editor', owner.organization)
    const request = { identity: { uid: robot, claimMatch: { subject: 'other' } } }
    assert.equal((await stage.fail(updateIdentity, request, admin.token)).code, 7)
    await writeDecoys(450)
    assert.equal((await stage.fail(updateIdentity, request, admin.token)).code, 7)
    await stage.succeed(updateIdentity, request)
  },

  async 'can change and create identities of the team that no other identity trusts'(stage) {
    const { platform, owner } = stage
    const { team, robot, admin } = await makeTeam(stage)
    const others: JsonObject[] = [
      { issuer: ciIssuer, subjectPattern: '.+' },
      { issuer: ciIssuer, subject: robot },
      { issuer, subjectPattern: `${owner.organization}/[0-9a-f]{15}` },
      { issuerPattern: 'https://.+\\.example\\.com', subject: robot },
      { issuer, subjectPattern: '.+', claimPatterns: { email: '.+@example\\.com' } },
    ]
    for (const claimMatch of others)
      await platform.bind(
        await makeIdentity(stage, owner.organization, claimMatch),
        'owner',
        owner.organization,
      )
    await stage.succeed(updateIdentity, change(robot), admin.token)
    const identity = { name: 'new', claimMatch: { issuer: ciIssuer, subject: 'new' } }
    await stage.succeed(createIdentity, { parent: team, identity }, admin.token)
  },

  async 'cannot change or create an identity if the server cannot check all identities that might trust it, but an owner can'(
    stage,
  ) {
    const { platform, owner } = stage
    const { team, robot, admin } = await makeTeam(stage)
    const stranger = await platform.addOrganization('stranger')
    await writeIdentities(stage, stranger.organization, Array(51).fill({ issuer, subject: robot }))
    assert.equal((await stage.fail(updateIdentity, change(robot), admin.token)).code, 7)
    await stage.succeed(updateIdentity, change(robot))
    const identity = { name: 'new', claimMatch: { issuer: ciIssuer, subject: 'new' } }
    await stage.succeed(createIdentity, { parent: team, identity }, admin.token)
    const patterns = Array.from({ length: 101 }, (_, at) => ({ issuer, subjectPattern: `x{${at + 1}}` }))
    await writeIdentities(stage, owner.organization, patterns)
    assert.equal((await stage.fail(createIdentity, { parent: team, identity }, admin.token)).code, 7)
    await stage.succeed(createIdentity, { parent: team, identity })
  },

  async 'cannot change or create an identity if workloads of other organizations have more than 1000 roles in this one, but an owner can'(
    stage,
  ) {
    const { platform, owner } = stage
    const { team, robot, admin } = await makeTeam(stage)
    const { organization: partner } = await platform.addOrganization('partner')
    const partners = await writeIdentities(
      stage,
      partner,
      Array.from({ length: 126 }, (_, at) => ({ issuer: ciIssuer, subject: `partner ${at}` })),
    )
    const bindings = partners
      .flatMap((uid) => builtInRoles.map((role) => ({ identity: uid, role: role.uid })))
      .map((columns, at) => {
        const uid = `${owner.organization}/${at.toString(16).padStart(16, '0')}`
        return [create(RoleBindingSchema), { uid, now: Date.now(), columns }] as const
      })
    const bindRoles = (from: number, to: number) =>
      platform.store.write(() => createMany(roleBindings, bindings.slice(from, to)))
    const identity = { name: 'new', claimMatch: { issuer: ciIssuer, subject: 'new' } }
    await bindRoles(0, 1000)
    await stage.succeed(createIdentity, { parent: team, identity }, admin.token)
    await bindRoles(1000, 1001)
    assert.equal((await stage.fail(createIdentity, { parent: team, identity }, admin.token)).code, 7)
    assert.equal((await stage.fail(updateIdentity, change(robot), admin.token)).code, 7)
    await stage.succeed(createIdentity, { parent: team, identity })
    await stage.succeed(updateIdentity, change(robot))
  },
})
