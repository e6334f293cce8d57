// Encodes a number as a protobuf field in SQL, which neither engine can do by itself.
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { Sql } from '../../store/sql.ts'
import { raw } from '../../store/sql.ts'

/**
 * SQL for a field whose value is in a column: a positive number below 2^56. A varint has seven bits
 * of the number in each byte, the lowest first; the highest bit of a byte says whether another one
 * follows. This one always has eight bytes, which is legal. `substr` takes each byte from a literal
 * of its possible values.
 */
export const varintField = (fieldNumber: number, column: string): Sql => {
  const tag = bytesLiteral(new BinaryWriter().tag(fieldNumber, WireType.Varint).finish())
  const bytes = [0, 7, 14, 21, 28, 35, 42, 49].map(
    (shift) =>
      `substr(${shift < 49 ? continued : last}, cast((${column} >> ${shift}) & 127 as integer) + 1, 1)`,
  )
  return raw([tag, ...bytes].join(' || '))
}

/** PostgreSQL runs `decode` and ignores the rest of the line. SQLite ignores the comment and reads the literal after it. */
function bytesLiteral(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  return `/*pg decode('${hex}', 'hex') -- */ x'${hex}'\n`
}

const bytesFrom = (first: number) => bytesLiteral(Uint8Array.from({ length: 128 }, (_, at) => first + at))
/** All values of a byte that another byte follows, and all values of the last byte. */
const [continued, last] = [bytesFrom(128), bytesFrom(0)]
