// How people find the organization they belong to: by the domain of their verified address.
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import { messageOf } from '../../kind.ts'
import { identities } from '../identities/table.ts'

/** The verified organization that is named after the domain, if there is one. */
export function* findOrganization(identity: string): Work<string | undefined> {
  const row = yield* first(sql`select proto from identities where uid = ${identity}`)
  if (!row) return undefined
  const { email = '' } = messageOf(identities, row[0] as Uint8Array)
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase()
  if (!email.includes('@') || domain === '') return undefined
  const found = yield* first(sql`select uid from groups where domain = ${domain}`)
  return found?.[0] as string | undefined
}
