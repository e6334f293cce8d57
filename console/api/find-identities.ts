// Suggestions for a field in which somebody chooses an identity.
import type { Option } from '../ui/combobox.tsx'
import { api } from './api.ts'
import { queries } from './queries.ts'
import { read } from './read.ts'

/** How many people are searched; the most that the API returns at once. */
const searched = 200
const maxOptions = 20

/**
 * Workloads of the organization, and people who have access to the group. A person who has no access yet is invited
 * instead, because people belong to no organization.
 */
export function findIdentities(group: string): (text: string) => Promise<Option[]> {
  const [organization = ''] = group.split('/')
  return async (text) => {
    const [workloads, people] = await Promise.all([
      queries.query(
        read(api.identities.listIdentities, {
          uidp: { descendantsOf: organization },
          orderBy: 'name',
          pageSize: maxOptions,
          ...(text.trim() && { nameContains: text.trim() }),
        }),
      ),
      queries.query(read(api.access.listAccess, { resource: group, pageSize: searched })),
    ])
    const options = new Map<string, Option>()
    for (const { identity } of people.entries ?? [])
      if (identity?.uid && !identity.uid.includes('/'))
        options.set(identity.uid, {
          value: identity.uid,
          label: identity.name || identity.email || identity.uid,
          detail: 'person',
        })
    for (const { uid = '', name = '' } of workloads.identities ?? [])
      options.set(uid, { value: uid, label: name, detail: 'workload' })
    const wanted = text.trim().toLowerCase()
    return [...options.values()]
      .filter(({ label, value }) => label.toLowerCase().includes(wanted) || value.includes(wanted))
      .slice(0, maxOptions)
  }
}
