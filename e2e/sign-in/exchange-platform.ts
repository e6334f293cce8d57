// A platform that trusts a third-party issuer, for tests of the token exchange.
import assert from 'node:assert/strict'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import type { Overrides } from '../../server/app.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import type { Engine } from '../../server/testing/stores.ts'
import type { ForeignIssuer } from './foreign-issuer.ts'
import { startIssuer } from './foreign-issuer.ts'

export type ExchangePlatform = {
  issuer: ForeignIssuer
  platform: Platform
  doors: [rest: Door, grpc: Door]
  /** Calls as the owner of the organization and returns the response; fails on an error. */
  callAsOwner(method: DescMethod, request: JsonObject): Promise<JsonObject>
  /** Creates an identity in the organization, by default one that matches the tokens of `issuer.sign()`. */
  createIdentity(relationship?: JsonObject): Promise<JsonObject & { uid: string }>
  stop(): Promise<void>
}

export async function startExchangePlatform(
  engine: Engine,
  overrides: Overrides = {},
  algorithm?: string,
  args: string[] = [],
): Promise<ExchangePlatform> {
  const issuer = await startIssuer(algorithm)
  const platform = await startPlatform(engine, ['--trusted-issuers', issuer.issuer, ...args], overrides)
  const [rest, grpc] = [restDoor(platform.url), grpcDoor(platform.url)]
  const { organization, token } = platform.owner
  const claimMatch = { issuer: issuer.issuer, subject: 'robot' }

  async function callAsOwner(method: DescMethod, request: JsonObject): Promise<JsonObject> {
    const { body, error } = await rest.call(method, request, token)
    assert.ok(body, error?.message)
    return body
  }

  return {
    ...{ issuer, platform, callAsOwner },
    doors: [rest, grpc],
    async createIdentity(relationship: JsonObject = { claimMatch }) {
      const request = { parent: organization, identity: { name: 'robot', ...relationship } }
      const identity = await callAsOwner(IdentitiesService.method.createIdentity, request)
      return identity as JsonObject & { uid: string }
    },
    async stop() {
      rest.close()
      grpc.close()
      await platform.stop()
      await issuer.close()
    },
  }
}
