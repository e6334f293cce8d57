// Repeats a list call as an identity that has role bindings in a thousand groups.
import type { Attack } from './attack.ts'

export const bindingFanOut: Attack = {
  parallel: 8,
  async round(target) {
    const headers = { authorization: target.tenant.memberOfManyGroups }
    await target.call({ method: 'GET', path: '/iam/v2beta1/groups?order_by=name&page_size=10', headers })
  },
}
