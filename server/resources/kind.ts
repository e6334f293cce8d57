// A kind of resource: its message, its table, and how one becomes the other.
import type { DescMessage, Message, MessageShape } from '@bufbuild/protobuf'
import { clone, fromBinary, toBinary } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { isInputOnly } from '@stemma/api/method.ts'
import { isBranch } from '../aip/field-path.ts'
import type { OrderTerm } from '../aip/order-by.ts'
import { parentOf, rootOf } from '../aip/uid.ts'
import type { Value } from '../store/sql.ts'
import type { Entry, Form, Rendered, Table } from '../store/table.ts'
import { storedForm } from '../store/table.ts'
import { shapeOf, writeJson } from '../wire/json-writer.ts'

export type Kind<D extends DescMessage> = {
  desc: D
  table: Table
  /** The kind of what its resources lie in. */
  liesIn: DescMessage
  /** The stamp of what this program renders. */
  shape: string
  forms: { json: Form; bytes: Form }
  /** The values of the table's own columns; null for what the resource does not tell, and its writer has to. */
  columns(resource: MessageShape<D>): Value[]
  /** Every spelling of a field that lists can be ordered by, with its column. */
  sortable: ReadonlyMap<string, string>
  defaultOrder: OrderTerm[]
}

export type KindOptions<D extends DescMessage> = Partial<Omit<Table, 'columns'>> & {
  /** The table's own columns, each with its value. */
  columns?: { [column: string]: (resource: MessageShape<D>) => Value }
  /** Groups, unless it is said otherwise. */
  liesIn?: DescMessage
  /** The messages that rows keep ready for resources of other kinds (see hydration.ts): their shapes are part of this one's. */
  shownAs?: DescMessage[]
  /** Further spellings of fields to order by. */
  sortable?: { [spelling: string]: string }
  defaultOrder?: OrderTerm[]
}

export function kindOf<D extends DescMessage>(desc: D, name: string, options: KindOptions<D> = {}): Kind<D> {
  const {
    columns = {},
    liesIn = GroupSchema,
    shownAs = [],
    sortable = {},
    defaultOrder = [{ column: 'uid', descending: false }],
  } = options
  const { isPlace = false, isAtPlaces = isPlace, isOrderedInPlace = true, rendered = storedForm } = options
  const values = Object.values(columns)
  const shape = shapeOf(desc, ...shownAs)
  return {
    ...{ desc, liesIn, shape },
    table: { name, columns: Object.keys(columns), isPlace, isAtPlaces, isOrderedInPlace, rendered },
    forms: { json: { kind: 'json', shape }, bytes: { kind: 'bytes' } },
    columns: (resource) => values.map((tell) => tell(resource)),
    sortable: new Map([...sortableOf(desc), ...Object.entries(sortable)]),
    defaultOrder,
  }
}

const sortableFields = [
  { field: 'name', spellings: ['name'] },
  { field: 'create_time', spellings: ['create_time', 'createTime', 'created_at'] },
  { field: 'update_time', spellings: ['update_time', 'updateTime', 'updated_at'] },
]

/** By its uid, and by its name and times where it has them. */
function sortableOf(desc: DescMessage): [string, string][] {
  const own = sortableFields.filter(({ field }) => desc.fields.some(({ name }) => name === field))
  const pairs = own.flatMap(({ field, spellings }) => spellings.map((one): [string, string] => [one, field]))
  return [['uid', 'uid'], ...pairs]
}

export type EntryFacts = { uid: string; name: string; createTime: number; updateTime: number }

/** Those of a resource that is there already. */
export function factsOf(uid: string, resource: Message, updateTime: number): EntryFacts {
  const { name = '', createTime } = resource as { name?: string; createTime?: Timestamp }
  return { uid, name, createTime: createTime ? timestampMs(createTime) : 0, updateTime }
}

/** The row of a resource. */
export function entryOf<D extends DescMessage>(
  kind: Kind<D>,
  resource: MessageShape<D>,
  facts: EntryFacts,
  columns = kind.columns(resource),
): Entry {
  const kept = withoutInput(kind.desc, resource)
  return {
    ...facts,
    proto: toBinary(kind.desc, kept),
    json: writeJson(kind.desc, kept),
    shape: kind.shape,
    parent: parentOf(facts.uid) || null,
    root: rootOf(facts.uid),
    columns,
  }
}

/** A resource as it is kept: what is only ever sent in lies in columns, if anywhere. */
export function withoutInput<D extends DescMessage>(desc: D, resource: MessageShape<D>): MessageShape<D> {
  if (!takesInput(desc)) return resource
  const kept = clone(desc, resource)
  clearInput(reflect(desc, kept))
  return kept
}

const inputs = new Map<DescMessage, boolean>()

/** Whether anything in such a message is only ever sent in. */
function takesInput(desc: DescMessage): boolean {
  const known = inputs.get(desc)
  if (known !== undefined) return known
  inputs.set(desc, false) // as far as is known, should it hold itself
  const takes = desc.fields.some(
    (field) => isInputOnly(field) || (isBranch(field) && takesInput(field.message)),
  )
  inputs.set(desc, takes)
  return takes
}

function clearInput(message: ReflectMessage): void {
  for (const field of message.fields) {
    if (!message.isSet(field)) continue
    if (isInputOnly(field)) message.clear(field)
    else if (isBranch(field)) clearInput(message.get(field))
  }
}

/** What to read of a row that leaves in a form. */
export const formOf = ({ forms }: Kind<DescMessage>, form: 'json' | 'bytes'): Form => forms[form]

/** As the row keeps it, or rendered again if another contract wrote it. */
export const jsonOf = ({ desc }: Kind<DescMessage>, rendered: Rendered): string =>
  typeof rendered === 'string' ? rendered : writeJson(desc, fromBinary(desc, rendered))

export const messageOf = <D extends DescMessage>({ desc }: Kind<D>, proto: Uint8Array): MessageShape<D> =>
  fromBinary(desc, proto)
