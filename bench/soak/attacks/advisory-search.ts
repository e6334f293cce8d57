// Sends expensive list calls for advisories, with a query, a large skip or both: 50 in parallel, by several identities.
import type { Attack } from './attack.ts'

const advisories = '/vulnerabilities/v2beta1/advisories'
const searches = ['query=nothing-matches-this', 'skip=15000', 'query=package-1&skip=5000']
let searchCount = 0

export const advisorySearch: Attack = {
  parallel: 50,
  async round(target) {
    const at = ++searchCount
    const { members } = target.tenant
    const path = `${advisories}?${searches[at % searches.length]}`
    await target.call({ method: 'GET', path, headers: { authorization: members[at % members.length] ?? '' } })
  },
}
