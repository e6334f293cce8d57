// Resources that contain parts of other resources. A role binding contains its identity, group and role; an invite
// contains its role. The row of an identity, group or role stores its part as a rendered field, in JSON and in bytes.
// SQL joins these fields to the row of the binding or invite, so no message is decoded.
import type { DescField, DescMessage, Message } from '@bufbuild/protobuf'
import { toBinary } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { Sql } from '../store/sql.ts'
import { join, raw, sql } from '../store/sql.ts'
import type { Form, Table } from '../store/table.ts'
import { writeJson } from '../wire/json-writer.ts'

type MessageField = DescField & { fieldKind: 'message' }

/** A field with its key, as it appears in the JSON of the containing resource: `"identity":{…}`. */
export function fieldAsJson(field: MessageField, value: Message): string {
  return `${JSON.stringify(field.jsonName)}:${writeJson(field.message, value)}`
}

/** A field with its tag, as it appears in the bytes of the containing resource. */
export function fieldAsBytes(field: MessageField, value: Message): Uint8Array {
  const writer = new BinaryWriter().tag(field.number, WireType.LengthDelimited)
  return writer.bytes(toBinary(field.message, value)).finish()
}

export function messageField(desc: DescMessage, name: string): MessageField {
  const field = desc.fields.find((candidate) => candidate.name === name)
  if (field?.fieldKind !== 'message') throw new Error(`${desc.typeName} has no message field ${name}`)
  return field
}

/** A field that is joined from the row of another kind. */
export type JoinedField = {
  from: { table: Pick<Table, 'name'>; shape: string }
  /** The column with the uid of the other row. */
  by: string
  /** The columns of the other row that contain the rendered field. */
  json: string
  bytes: string
  /** Whether the other row may have been deleted; the field is left out then. */
  isOptional?: boolean
}

/**
 * The SQL that renders rows of the table `name` with their joined fields. The JSON is null if the JSON of the row or of
 * a joined field is stale.
 */
export function hydrated(name: string, fields: readonly JoinedField[]): (form: Form) => Sql {
  return (form) => {
    if (form.kind === 'bytes') {
      const parts = fields.map((field) => joinField(name, field, raw(`coalesce(${field.bytes}, '')`)))
      return sql`cast(${join([raw(`${name}.proto`), ...parts], ' || ')} as blob)`
    }
    const parts = fields.map((field) =>
      joinField(name, field, raw(`case when shape = '${field.from.shape}' then ',' || ${field.json} end`)),
    )
    // The JSON of the row without its closing brace, which follows the joined fields.
    const ownJson = `substr(${name}.json, 1, length(${name}.json) - 1)`
    const isCurrent = `${name}.shape = '${form.shape}'`
    return sql`${join([raw(`case when ${isCurrent} then ${ownJson} end`), ...parts], ' || ')} || '}'`
  }
}

function joinField(name: string, { from, by, isOptional }: JoinedField, part: Sql): Sql {
  const row = sql`from ${raw(from.table.name)} l where l.uid = ${raw(`${name}.${by}`)}`
  if (!isOptional) return sql`(select ${part} ${row})`
  return sql`case when exists (select 1 ${row}) then (select ${part} ${row}) else ${raw("''")} end`
}
