// The published Go SDK, unchanged, against our server.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import type { Door } from '@stemma/server/testing/doors.ts'
import { grpcDoor } from '@stemma/server/testing/doors.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import type { ForeignIssuer } from '../sign-in/foreign-issuer.ts'
import { addAccount, password } from '../sign-in/sign-in.ts'
import { Visitor } from '../sign-in/visitor.ts'
import { buildGoProgram } from './go-program.ts'
import type { SdkPlatform } from './sdk-platform.ts'
import { startSdkPlatform } from './sdk-platform.ts'

const ada = 'ada@example.com'
const terms = 'terms-of-use.v1'
const built = await buildGoProgram()
if (typeof built === 'string') console.log(`the published Go SDK was not tested: ${built}`)
const [program, skip] = typeof built === 'string' ? [undefined, built] : [built, false]
after(() => program?.remove())

onEachStore('the published Go SDK', (engine) => {
  let setUp: SdkPlatform
  let issuer: ForeignIssuer
  let platform: Platform
  let door: Door
  before(async () => {
    setUp = await startSdkPlatform(engine, ['--terms', terms])
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

  test('signs in, and creates, reads, updates and deletes every kind of resource', { skip }, async () => {
    assert.ok(program)
    const group = await make(GroupsService.method.createGroup, { group: { name: 'clients' } })
    const claimMatch = { issuer: issuer.issuer, subject: 'robot' }
    const identity = await make(IdentitiesService.method.createIdentity, {
      identity: { name: 'robot', claimMatch },
    })
    await platform.bind(identity, 'owner', group)
    await addAccount(platform, ada)
    const args = ['-api', platform.url, '-group', group, '-identity', identity, '-terms', terms, '-person']
    const token = await issuer.sign({ aud: platform.config.authUrl })
    const running = program.start(args, { IDENTITY_TOKEN: token })
    const [, address = ''] = await running.stdoutMatch(/open a browser to (\S+)\n/)
    await openAndSignIn(address)
    const { code, stdout, stderr } = await running.ended
    assert.equal(code, 0, `${stdout}\n${stderr}`)
    assert.match(stdout, /^ok {3}organization is gone\n\d{3} steps, all as expected\n$/m)
  })
})
