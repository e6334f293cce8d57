// Suggestions for a field in which somebody chooses an identity.
import type { RoleBindingIdentityJson } from '@stemma/api/json/platform/iam/v2beta1/role_binding'
import type { Option } from '../ui/suggestions.ts'
import { api } from './api.ts'
import { queries } from './queries.ts'
import type { Read } from './read.ts'
import { read } from './read.ts'
import { isUid } from './uids.ts'

const maxOptions = 20
/** The most that the API returns at once. */
const pageSize = 200
/**
 * How many pages of role bindings are searched for people. People on later pages are found only if `listAccess` returns
 * them, or by their uid.
 */
const maxPages = 10

/**
 * Workloads of the organization, and people who have a role in it. A person who has no role yet is invited instead,
 * because people belong to no organization. If the text is a uid, this uid is suggested too.
 */
export function findIdentities(group: string): (text: string) => Promise<Option[]> {
  const [organization = ''] = group.split('/')
  return async (text) => {
    const wanted = text.trim()
    const [workloads, access, bound] = await Promise.all([
      queries.query(
        read(api.identities.listIdentities, {
          ...{ uidp: { descendantsOf: organization }, orderBy: 'name', pageSize: maxOptions },
          ...(wanted && { nameContains: wanted }),
        }),
      ),
      // Refused without the capability role_bindings.list. Workloads can be suggested nevertheless.
      queries.query(read(api.access.listAccess, { resource: group, pageSize })).catch(() => undefined),
      queries.query(readBoundIdentities(organization)),
    ])
    const entries = [...(access?.entries ?? []).map(({ identity }) => identity), ...bound]
    const options = new Map<string, Option>()
    for (const { uid = '', name, email } of entries.filter((each) => each !== undefined))
      if (isPerson(uid) && isMatch([name, email, uid], wanted))
        options.set(uid, { value: uid, label: name || email || uid, detail: 'person' })
    for (const { uid = '', name = '' } of workloads.identities ?? [])
      options.set(uid, { value: uid, label: name, detail: 'workload' })
    if (isUid(wanted) && !options.has(wanted))
      options.set(wanted, { value: wanted, label: wanted, detail: 'this uid' })
    return [...options.values()].slice(0, maxOptions)
  }
}

/** The uids of workloads begin with those of their groups. */
const isPerson = (uid: string) => uid !== '' && !uid.includes('/')

const isMatch = (texts: readonly (string | undefined)[], wanted: string) =>
  texts.some((text) => text?.toLowerCase().includes(wanted.toLowerCase()))

/** The people and workloads in the role bindings of an organization, as far as the signed-in person may see them. */
const readBoundIdentities = (organization: string): Read<RoleBindingIdentityJson[]> => ({
  queryKey: ['roleBindings', 'people', organization],
  async queryFn({ signal }) {
    const found = new Map<string, RoleBindingIdentityJson>()
    let pageToken: string | undefined = ''
    for (let page = 0; page < maxPages && pageToken !== undefined; page++) {
      const request = { uidp: { descendantsOf: organization }, pageSize, pageToken }
      const { roleBindings = [], nextPageToken } = await api.roleBindings.listRoleBindings(request, {
        signal,
      })
      for (const { identity } of roleBindings) if (identity?.uid) found.set(identity.uid, identity)
      pageToken = nextPageToken || undefined
    }
    return [...found.values()]
  },
})
