// Finds the organization that a person belongs to, by the domain of their verified address.
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import { readResource } from '../../stored-resource.ts'
import { identities } from '../identities/table.ts'

/** Returns the uid of the verified organization whose name is the domain, if there is one. */
export function* findOrganization(identity: string): Work<string | undefined> {
  const { email = '' } = (yield* readResource(identities, identity)) ?? {}
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase()
  if (!email.includes('@') || domain === '') return undefined
  const row = yield* first(sql`select uid from groups where domain = ${domain}`)
  return row?.[0] as string | undefined
}
