// The columns of a resource's table, from the options of its message. The uid is last, since it is long.
import type { DescMessage } from '@bufbuild/protobuf'
import { resourceOptions } from '@stemma/api/resource.ts'
import { camel } from '../contract/spelling.ts'

/**
 * `paths` are dotted JSON names of fields; the first that is not empty is shown. `isBytes`: the
 * field is a number of bytes, shown with a unit.
 */
export type Column = { title: string; paths: string[]; isBytes?: boolean }

const uidColumn: Column = { title: 'UID', paths: ['uid'] }
const nameColumn: Column = { title: 'NAME', paths: ['name'] }

export function columnsOf(message: DescMessage, isWide: boolean): Column[] {
  const columns = resourceOptions(message)
    .columns.filter(({ wide }) => isWide || !wide)
    .map(({ title, fields, bytes }) => ({ title, paths: fields.map(camel), isBytes: bytes }))
  const hasUid = message.fields.some(({ name }) => name === 'uid')
  return [...(columns.length > 0 ? columns : [nameColumn]), ...(hasUid ? [uidColumn] : [])]
}
