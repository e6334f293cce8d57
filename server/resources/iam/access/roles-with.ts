import { decodeBits } from '../../../policy/bits.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'

/** The roles with all of these capabilities: built-in roles, and custom roles of these groups. */
export function* rolesWith(bits: readonly number[], groups: readonly string[]): Work<string[]> {
  const rows = yield sql`select uid, bits from roles where parent is null union all
    select uid, bits from roles where parent in ${among(groups)}`
  return (rows as [string, string][])
    .filter(([, text]) => {
      const held = decodeBits(text)
      return bits.every((bit) => held.has(bit))
    })
    .map(([uid]) => uid)
}
