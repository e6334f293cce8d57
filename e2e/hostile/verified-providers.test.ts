// An identity provider of a verified organization confirms e-mail addresses of its domain, so a caller who configures
// one can sign in as any person of the domain. Therefore the caller needs all capabilities of an owner.
import assert from 'node:assert/strict'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { verifyOrganization } from '@stemma/server/commands/verify.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { examples } from '../contract/examples.ts'

const { createIdentityProvider, updateIdentityProvider } = IdentityProvidersService.method

const identityProvider = {
  name: 'sso',
  defaultRole: builtInRole('viewer').uid,
  oidc: { issuer: 'https://sso.test', clientId: 'stemma', clientSecret: 'hush hush' },
}

examples('an administrator of identity providers', {
  async 'needs all capabilities of an owner in a verified organization'(stage) {
    const { platform, door, succeed, fail } = stage
    const owner = await platform.addOrganization(`${door.name.toLowerCase()}.example.com`)
    const parent = owner.organization
    const admin = await platform.addIdentityWith(parent, [
      'CAP_IAM_IDENTITY_PROVIDERS_CREATE',
      'CAP_IAM_IDENTITY_PROVIDERS_UPDATE',
      'CAP_IAM_ROLE_BINDINGS_CREATE',
    ])
    await platform.bind(admin.identity, 'viewer', parent)
    const { uid } = await succeed(createIdentityProvider, { parent, identityProvider }, admin.token)
    const changed = { identityProvider: { uid: uid as string, description: 'changed' } }
    await succeed(updateIdentityProvider, changed, admin.token)
    await verifyOrganization(platform.store, parent, { isVerified: true, now: Date.now() })

    assert.equal((await fail(createIdentityProvider, { parent, identityProvider }, admin.token)).code, 7)
    const mine = { identityProvider: { uid: uid as string, oidc: { clientId: 'mine' } } }
    assert.equal((await fail(updateIdentityProvider, mine, admin.token)).code, 7)
    await succeed(createIdentityProvider, { parent, identityProvider }, owner.token)
    await succeed(updateIdentityProvider, mine, owner.token)

    // A provider in a group below confirms no addresses.
    const team = await succeed(
      GroupsService.method.createGroup,
      { parent, group: { name: 'team' } },
      owner.token,
    )
    await succeed(createIdentityProvider, { parent: team.uid as string, identityProvider }, admin.token)
  },
})
