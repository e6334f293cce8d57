// With a token that is limited to a group (`scopes`), Auth.Validate must not return more about the
// group than the identity may see.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { examples, make } from '../contract/examples.ts'

examples('Auth.Validate with a token that is limited to a group', {
  async 'shows the name of the group only to those who may list groups'(stage) {
    const { platform, owner, succeed } = stage
    const group = { name: 'secret-project', description: 'classified' }
    const uid = await make(stage, GroupsService.method.createGroup, { parent: owner.organization, group })
    const roleLister = await platform.addIdentityWith(owner.organization, ['CAP_IAM_ROLES_LIST'])
    const groupLister = await platform.addIdentityWith(owner.organization, ['CAP_IAM_GROUPS_LIST'])
    for (const { token, isShown } of [
      { token: roleLister.token, isShown: false },
      { token: groupLister.token, isShown: true },
    ]) {
      const limited = await succeed(SecurityTokenService.method.exchange, { scopes: [uid] }, token)
      const me = await succeed(Auth.method.validate, {}, limited.token as string)
      const [entry] = me.capabilities as { group: JsonObject; capabilities: string[] }[]
      assert.equal(entry?.group.id, uid)
      assert.equal(entry.capabilities.length, 1)
      assert.equal(JSON.stringify(me).includes('secret-project'), isShown)
      assert.equal(JSON.stringify(me).includes('classified'), isShown)
    }
    const narrowed = { scopes: [uid], cap: ['roles.list'] }
    const limited = await succeed(SecurityTokenService.method.exchange, narrowed, groupLister.token)
    const me = await succeed(Auth.method.validate, {}, limited.token as string)
    assert.ok(!JSON.stringify(me).includes('secret-project'))
  },
})
