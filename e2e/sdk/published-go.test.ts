// The published Go SDK, unchanged, against our server.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { builtInRole } from '@stemma/server/policy/built-in-roles.ts'
import type { Door } from '@stemma/server/testing/doors.ts'
import { grpcDoor } from '@stemma/server/testing/doors.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import type { ForeignIssuer } from '../sign-in/foreign-issuer.ts'
import { addAccount, password } from '../sign-in/sign-in.ts'
import { Visitor } from '../sign-in/visitor.ts'
import type { GoProgram } from './go-program.ts'
import { buildGoProgram } from './go-program.ts'
import type { SdkPlatform } from './sdk-platform.ts'
import { startSdkPlatform } from './sdk-platform.ts'

const ada = 'ada@example.com'
const terms = 'terms-of-use.v1'

describe('the published Go SDK', () => {
  let built: GoProgram | string
  before(async () => {
    built = await buildGoProgram()
    if (typeof built === 'string') console.log(`the published Go SDK was not tested: ${built}`)
  })
  after(async () => {
    if (typeof built === 'object') await built.remove()
  })

  onEachStore('on a platform', (engine) => {
    let setUp: SdkPlatform
    let issuer: ForeignIssuer
    let platform: Platform
    let door: Door
    before(async () => {
      const eventTypes = ['--event-type-prefix', 'dev.chainguard.']
      setUp = await startSdkPlatform(engine, ['--terms', terms, '--org-creation', 'anyone', ...eventTypes])
      ;({ issuer, platform } = setUp)
      door = grpcDoor(platform.url)
    })
    after(async () => {
      door.close()
      await setUp.stop()
    })

    async function make(method: Parameters<Door['call']>[0], request: JsonObject): Promise<string> {
      const parent = platform.owner.organization
      const { body, error } = await door.call(method, { parent, ...request }, platform.owner.token)
      assert.ok(body, error?.message)
      return body.uid as string
    }

    /** Opens the URL that the client printed, signs in, and follows the redirect to the client. */
    async function openAndSignIn(address: string): Promise<void> {
      const visitor = new Visitor(platform.url)
      const page = await visitor.submit(await visitor.open(address), { email: ada, password })
      assert.equal((await fetch(page.url)).status, 200, page.text)
    }

    /** Opens the URL that the client printed, and signs in. The client itself has no browser. */
    async function signInElsewhere(address: string): Promise<void> {
      const visitor = new Visitor(platform.url)
      const end = await visitor.submit(await visitor.open(address), { email: ada, password })
      assert.equal(end.title, 'You are signed in')
    }

    /** Enters the code that the client printed, and signs in. */
    async function signInDevice(code: string, address: string): Promise<void> {
      const visitor = new Visitor(platform.url)
      const confirm = await visitor.submit(await visitor.open(address), { user_code: code })
      const login = await visitor.submit(confirm, { confirm: 'yes' })
      const end = await visitor.submit(login, { email: ada, password })
      assert.equal(end.title, 'Your device is signed in')
    }

    /** An identity that the issuer's robot can assume, with the role owner in the organization. */
    async function makeRobot(): Promise<string> {
      const claimMatch = { issuer: issuer.issuer, subject: 'robot' }
      const robot = await make(IdentitiesService.method.createIdentity, {
        identity: { name: 'robot', claimMatch },
      })
      await platform.bind(robot, 'owner', platform.owner.organization)
      return robot
    }

    /** Creates an identity provider. Returns a person's token with its client id as the audience. */
    async function signForProvider(): Promise<string> {
      const oidc = { issuer: issuer.issuer, clientId: 'sso', pkceEnabled: true }
      await make(IdentityProvidersService.method.createIdentityProvider, {
        identityProvider: { name: 'sso', defaultRole: builtInRole('viewer').uid, oidc },
      })
      return issuer.sign({ sub: 'person', aud: oidc.clientId })
    }

    test('signs in, and creates, reads, updates and deletes every kind of resource', async (context) => {
      if (typeof built === 'string') return context.skip(built)
      const group = await make(GroupsService.method.createGroup, { group: { name: 'clients' } })
      await addAccount(platform, ada)
      const args = ['-api', platform.url, '-group', group, '-identity', await makeRobot(), '-terms', terms]
      const running = built.start([...args, '-organizations', '-person'], {
        IDENTITY_TOKEN: await issuer.sign({ aud: platform.config.authUrl }),
        REGISTRATION_TOKEN: await signForProvider(),
      })
      const [, code = '', device = ''] = await running.stdoutMatch(/verification code (\S+) .* at: (\S+)\n/)
      await signInDevice(code, device)
      const [, elsewhere = ''] = await running.stdoutMatch(/on another machine, open (\S+)\n/)
      await signInElsewhere(elsewhere)
      const [, address = ''] = await running.stdoutMatch(/open a browser to (\S+)\n/)
      await openAndSignIn(address)
      const { code: exitCode, stdout, stderr } = await running.ended
      assert.equal(exitCode, 0, `${stdout}\n${stderr}`)
      assert.match(stdout, /^ok {3}organization is gone\n\d{3} steps, all as expected\n$/m)
    })
  })

  test('verifies access tokens that are signed with ES256', async (context) => {
    if (typeof built === 'string') return context.skip(built)
    const { platform, stop } = await startSdkPlatform('sqlite', ['--token-algorithm', 'ES256'])
    context.after(stop)
    const { organization, identity, token } = platform.owner
    const args = ['-api', platform.url, '-group', organization, '-identity', identity]
    const running = built.start([...args, '-algorithm', 'ES256', '-sign-in-only'], {
      IDENTITY_TOKEN: token,
    })
    const { code, stdout, stderr } = await running.ended
    assert.equal(code, 0, `${stdout}\n${stderr}`)
  })
})
