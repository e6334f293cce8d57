// What a row lends to resources of other kinds: the field that it fills there, as it will stand in their JSON
// and in their bytes. Whoever hydrates a resource puts such parts together in SQL, without decoding anything.
import type { DescField, DescMessage, Message } from '@bufbuild/protobuf'
import { toBinary } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { writeJson } from '../aip/json-writer.ts'
import type { Sql } from '../store/sql.ts'
import { join, raw, sql } from '../store/sql.ts'
import type { Form, Table } from '../store/table.ts'

type MessageField = DescField & { fieldKind: 'message' }

/** `"identity":{…}` */
export function jsonPart(field: MessageField, value: Message): string {
  return `${JSON.stringify(field.jsonName)}:${writeJson(field.message, value)}`
}

export function bytesPart(field: MessageField, value: Message): Uint8Array {
  const writer = new BinaryWriter().tag(field.number, WireType.LengthDelimited)
  return writer.bytes(toBinary(field.message, value)).finish()
}

export function messageField(desc: DescMessage, name: string): MessageField {
  const field = desc.fields.find((candidate) => candidate.name === name)
  if (field?.fieldKind !== 'message') throw new Error(`${desc.typeName} has no message field ${name}`)
  return field
}

/** Where a part comes from: the row of `lender` that a column of the hydrated table names. */
export type Loan = {
  lender: { table: Pick<Table, 'name'>; shape: string }
  /** The column that names the row. */
  by: string
  /** The columns that hold the part. */
  json: string
  bytes: string
  /** Whether the row may be gone; the part is left out then. */
  mayBeGone?: boolean
}

/** How a row leaves that is put together with what others lend it. */
export function hydrated(name: string, loans: readonly Loan[]): (form: Form) => Sql {
  return (form) => {
    if (form.kind === 'bytes') {
      const parts = loans.map((loan) => borrow(name, loan, raw(`coalesce(${loan.bytes}, '')`), raw("''")))
      return sql`cast(${join([raw(`${name}.proto`), ...parts], ' || ')} as blob)`
    }
    const parts = loans.map((loan) => {
      const current = raw(`case when shape = '${loan.lender.shape}' then ',' || ${loan.json} end`)
      return borrow(name, loan, current, raw("''"))
    })
    const own = `substr(${name}.json, 1, length(${name}.json) - 1)`
    const isCurrent = `${name}.shape = '${form.shape}'`
    return sql`${join([raw(`case when ${isCurrent} then ${own} end`), ...parts], ' || ')} || '}'`
  }
}

function borrow(name: string, { lender, by, mayBeGone }: Loan, part: Sql, nothing: Sql): Sql {
  const row = sql`from ${raw(lender.table.name)} l where l.uid = ${raw(`${name}.${by}`)}`
  if (!mayBeGone) return sql`(select ${part} ${row})`
  return sql`case when exists (select 1 ${row}) then (select ${part} ${row}) else ${nothing} end`
}
