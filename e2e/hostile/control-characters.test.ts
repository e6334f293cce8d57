// Control characters in names and in the keys of maps. Most take six bytes in JSON, and some can forge lines in logs
// and on terminals.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { AccountAssociationsService } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'

const { createAccountAssociation } = AccountAssociationsService.method
const { createIdentity } = IdentitiesService.method
const { createIdentityProvider } = IdentityProvidersService.method

const characters = ['\u0001', '\n', '\u001b', '\u007f', '\u0085', '\u2028']

const refusal = /must not contain line breaks or control characters$/

const association = (fields: JsonObject) => ({ accountAssociation: { name: 'x', ...fields } })
const installation = (name: string) => ({ 1: { installations: [{ installationId: 1, name }] } })
const match = { issuer: 'https://issuer.example', subject: 'x' }
const identity = (fields: JsonObject) => ({ identity: { name: 'x', claimMatch: { ...match, ...fields } } })
const oidc = { issuer: 'https://issuer.example', clientId: 'x', clientSecret: 'x' }

/** Requests that have the given text in a field. The name of the field is in proto spelling. */
const requests: [field: string, method: DescMethod, request: (text: string) => JsonObject][] = [
  [
    'github.app_installations[1].installations[0].name',
    createAccountAssociation,
    (text) => association({ github: { appInstallations: installation(text) } }),
  ],
  [
    'google.project_id',
    createAccountAssociation,
    (text) => association({ google: { projectId: text, projectNumber: '1' } }),
  ],
  [
    'azure.client_ids',
    createAccountAssociation,
    (text) => association({ azure: { tenantId: 'x', clientIds: { [text]: 'x' } } }),
  ],
  [
    'chainguard.service_bindings',
    createAccountAssociation,
    (text) => association({ chainguard: { serviceBindings: { [text]: 'x' } } }),
  ],
  ['claim_match.claims', createIdentity, (text) => identity({ claims: { [text]: 'x' } })],
  ['claim_match.claim_patterns', createIdentity, (text) => identity({ claimPatterns: { [text]: 'x' } })],
  ['claim_match.subject', createIdentity, (text) => identity({ subject: text })],
  [
    'oidc.groups_claim',
    createIdentityProvider,
    (text) => ({ identityProvider: { name: 'x', oidc: { ...oidc, groupsClaim: text } } }),
  ],
]

onEachStore('control characters', (engine) => {
  let platform: Platform
  let doors: Door[]
  before(async () => {
    platform = await sharedPlatform(engine)
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  for (const [field, method, requestOf] of requests)
    test(`are refused in ${field}`, async () => {
      const { organization: parent, token } = platform.owner
      for (const door of doors)
        for (const character of characters) {
          const { error } = await door.call(method, { parent, ...requestOf(`a${character}b`) }, token)
          assert.equal(error?.code, 3, `${door.name} accepts ${JSON.stringify(character)}`)
          const violations = error.details.flatMap(
            ({ fieldViolations = [] }) => fieldViolations as { field: string; description: string }[],
          )
          const violation = violations.find(({ description }) => refusal.test(description))
          assert.ok(violation, error.message)
          if (door.name === 'gRPC') assert.ok(violation.field.startsWith(field), violation.field)
        }
    })
})
