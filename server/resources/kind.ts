// A kind of resource: its message, its table, and the conversion between them.
import type { DescMessage, Message, MessageShape } from '@bufbuild/protobuf'
import { clone, fromBinary, toBinary } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { isInputOnly } from '@stemma/api/method.ts'
import { resourceOptions } from '@stemma/api/resource.ts'
import { isBranch } from '../aip/field-path.ts'
import type { OrderTerm } from '../aip/order-by.ts'
import { parentOf, rootOf } from '../aip/uid.ts'
import type { Grants } from '../policy/grants.ts'
import type { Value } from '../store/sql.ts'
import type { Columns, Entry, Form, Rendered, Table } from '../store/table.ts'
import { storedForm } from '../store/table.ts'
import { shapeOf, writeJson } from '../wire/json-writer.ts'
import { requireStorable } from './resource-size.ts'

export type Kind<D extends DescMessage, X extends ExtraColumns = ExtraColumns> = {
  desc: D
  table: Table
  /** The full name of the message type of its parent. */
  parentType: string
  /** The shape that this program renders, see `shapeOf`. */
  shape: string
  forms: { json: Form; bytes: Form }
  /** Columns that are computed from the resource. */
  columnsOf(resource: MessageShape<D>): Columns
  extraColumns: X
  /** Whether the message, or a message inside it, has INPUT_ONLY fields. */
  hasInput: boolean
  /** The columns that lists can be ordered by. The keys are all accepted spellings of their fields. */
  sortable: ReadonlyMap<string, string>
  defaultOrder: OrderTerm[]
  redaction: Redaction | undefined
}

/** Hides parts of a row from callers who may see the rest of it. */
export type Redaction = {
  /** If false, nothing is hidden from a caller with these grants. */
  isNeeded(grants: Grants): boolean
  apply(grants: Grants, row: Uint8Array): Uint8Array
}

/**
 * SQL types of columns whose values the stored resource does not contain, such as the digest of a secret. A new
 * resource needs a value for each column; an update changes only the columns that it names.
 */
export type ExtraColumns = { readonly [column: string]: keyof ColumnTypes }

type ColumnTypes = { text: string; integer: number }

export type ExtraValues<X extends ExtraColumns> = { readonly [column in keyof X]: ColumnTypes[X[column]] }

export type NoExtraColumns = Record<never, never>

export type KindOptions<D extends DescMessage, X extends ExtraColumns> = Partial<
  Omit<Table, 'name' | 'columns' | 'hasGroupUids' | 'levelsBelowGroup'>
> & {
  /** Columns that are computed from the resource whenever it is written. */
  columns?: { [column: string]: (resource: MessageShape<D>) => Value }
  extraColumns?: X
  /** Messages in which resources of other kinds show this one (see hydration.ts). They are part of the shape. */
  shownAs?: DescMessage[]
  /** Further spellings of fields to order by, with their columns. */
  sortable?: { [spelling: string]: string }
  defaultOrder?: OrderTerm[]
  redaction?: Redaction
}

export function kindOf<D extends DescMessage, const X extends ExtraColumns = NoExtraColumns>(
  desc: D,
  name: string,
  options: KindOptions<D, X> = {},
): Kind<D, X> {
  const {
    hiddenFields = {},
    columns = {},
    extraColumns = {} as X, // `X` has no columns where the option is left out
    shownAs = [],
    sortable = {},
    defaultOrder = [{ column: 'uid', descending: false }],
  } = options
  const { hasChildren = false, expires = false, isIndexedByParent = true, rendered = storedForm } = options
  const { parent: parentType, hasUidOfParent } = resourceOptions(desc)
  const hasGroupUids = hasUidOfParent || desc.typeName === GroupSchema.typeName
  const levelsBelowGroup = parentType === GroupSchema.typeName ? 1 : 2
  const computed = Object.entries(columns)
  const names = [...Object.keys(columns), ...Object.keys(extraColumns)]
  const shape = shapeOf(desc, ...shownAs)
  return {
    ...{ desc, parentType, shape, extraColumns, defaultOrder },
    table: {
      name,
      columns: names,
      hasChildren,
      expires,
      hasGroupUids,
      levelsBelowGroup,
      isIndexedByParent,
      rendered,
      hiddenFields,
    },
    forms: { json: { kind: 'json', shape }, bytes: { kind: 'bytes' } },
    columnsOf(resource) {
      const values: Record<string, Value> = {}
      for (const [column, compute] of computed) values[column] = compute(resource)
      return values
    },
    hasInput: containsInput(desc),
    sortable: new Map([...sortableOf(desc), ...Object.entries(sortable)]),
    redaction: options.redaction,
  }
}

/** The redaction for a caller with these grants. Undefined if nothing is hidden: the rows are then sent as stored. */
export const redactionFor = ({ redaction }: Kind<DescMessage>, grants: Grants): Redaction | undefined =>
  redaction?.isNeeded(grants) ? redaction : undefined

const sortableFields = [
  { field: 'name', spellings: ['name'] },
  { field: 'create_time', spellings: ['create_time', 'createTime', 'created_at'] },
  { field: 'update_time', spellings: ['update_time', 'updateTime', 'updated_at'] },
]

/** The uid, and the name and times if the message has them. */
function sortableOf(desc: DescMessage): [string, string][] {
  const present = sortableFields.filter(({ field }) => desc.fields.some(({ name }) => name === field))
  const pairs = present.flatMap(({ field, spellings }) =>
    spellings.map((spelling): [string, string] => [spelling, field]),
  )
  return [['uid', 'uid'], ...pairs]
}

/** Fields that every row has as columns. */
export type StandardFields = { uid: string; name: string; createTime: number; updateTime: number }

/** The standard fields of a stored resource that changes at `updateTime`. */
export function standardFieldsOf(uid: string, resource: Message, updateTime: number): StandardFields {
  const { name = '', createTime } = resource as { name?: string; createTime?: Timestamp }
  return { uid, name, createTime: createTime ? timestampMs(createTime) : 0, updateTime }
}

/** The row of a resource. Throws a StatusError if the resource is too large to be stored. */
export function entryOf<D extends DescMessage, X extends ExtraColumns>(
  kind: Kind<D, X>,
  resource: MessageShape<D>,
  fields: StandardFields,
  extra?: Partial<ExtraValues<X>>,
): Entry {
  const entry = storedEntryOf(kind, resource, fields, extra)
  requireStorable(kind.desc, entry.json)
  return entry
}

/** The row of a resource that was stored before, which is kept even if it is larger than resources may be now. */
export function storedEntryOf<D extends DescMessage, X extends ExtraColumns>(
  kind: Kind<D, X>,
  resource: MessageShape<D>,
  fields: StandardFields,
  extra?: Partial<ExtraValues<X>>,
): Entry {
  const stored = withoutInput(kind, resource)
  return {
    ...fields,
    proto: toBinary(kind.desc, stored),
    json: writeJson(kind.desc, stored),
    shape: kind.shape,
    parent: parentOf(fields.uid) || null,
    root: rootOf(fields.uid),
    columns: Object.assign(kind.columnsOf(stored), extra),
  }
}

/** A resource as it is stored: without INPUT_ONLY fields, which are stored in columns or not at all. */
export function withoutInput<D extends DescMessage>(
  { desc, hasInput }: Kind<D>,
  resource: MessageShape<D>,
): MessageShape<D> {
  if (!hasInput) return resource
  const stored = clone(desc, resource)
  clearInput(reflect(desc, stored))
  return stored
}

/** `seen` ends the recursion if a message contains itself. */
function containsInput(desc: DescMessage, seen = new Set<DescMessage>()): boolean {
  if (seen.has(desc)) return false
  seen.add(desc)
  return desc.fields.some(
    (field) => isInputOnly(field) || (isBranch(field) && containsInput(field.message, seen)),
  )
}

function clearInput(message: ReflectMessage): void {
  for (const field of message.fields) {
    if (!message.isSet(field)) continue
    if (isInputOnly(field)) message.clear(field)
    else if (isBranch(field)) clearInput(message.get(field))
  }
}

/** The stored JSON, or a new rendering if the stored one has another shape. */
export const jsonOf = ({ desc }: Kind<DescMessage>, rendered: Rendered): string =>
  typeof rendered === 'string' ? rendered : writeJson(desc, fromBinary(desc, rendered))

export const messageOf = <D extends DescMessage>({ desc }: Kind<D>, proto: Uint8Array): MessageShape<D> =>
  fromBinary(desc, proto)
