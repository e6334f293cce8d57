// A kind of resource: its message, its table, and how one becomes the other.
import type { DescMessage, Message, MessageShape } from '@bufbuild/protobuf'
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { shapeOf, writeJson } from '../aip/json-writer.ts'
import type { OrderTerm } from '../aip/order-by.ts'
import { parentOf, rootOf } from '../aip/uid.ts'
import type { Value } from '../store/sql.ts'
import type { Entry, Form, Leaving, Stored, Table } from '../store/table.ts'

export type Kind<D extends DescMessage> = {
  desc: D
  table: Table
  /** The stamp of what this program renders. */
  shape: string
  /** The values of the table's own columns. */
  columns(resource: MessageShape<D>): Value[]
  /** Every spelling of a field that lists can be ordered by, with its column. */
  sortable: ReadonlyMap<string, string>
  defaultOrder: OrderTerm[]
}

const sortableByAll = {
  uid: 'uid',
  name: 'name',
  create_time: 'create_time',
  createTime: 'create_time',
  created_at: 'create_time',
  update_time: 'update_time',
  updateTime: 'update_time',
  updated_at: 'update_time',
}

export function kindOf<D extends DescMessage>(
  desc: D,
  table: Table,
  columns: (resource: MessageShape<D>) => Value[] = () => [],
): Kind<D> {
  return {
    desc,
    table,
    shape: shapeOf(desc),
    columns,
    sortable: new Map(Object.entries(sortableByAll)),
    defaultOrder: [{ column: 'uid', descending: false }],
  }
}

/** The row of a resource. */
export function entryOf<D extends DescMessage>(
  kind: Kind<D>,
  resource: MessageShape<D>,
  facts: { uid: string; name: string; createTime: number; updateTime: number },
): Entry {
  return {
    ...facts,
    ...render(kind, resource),
    parent: parentOf(facts.uid) || null,
    root: rootOf(facts.uid),
    columns: kind.columns(resource),
  }
}

function render<D extends DescMessage>({ desc, shape }: Kind<D>, resource: Message): Stored {
  return { proto: toBinary(desc, resource as MessageShape<D>), json: writeJson(desc, resource), shape }
}

/** What to read of a row that leaves in a form. */
export const formOf = ({ shape }: Kind<DescMessage>, form: 'json' | 'bytes'): Form =>
  form === 'json' ? { kind: 'json', shape } : { kind: 'bytes' }

/** What a row that was read whole leaves as. */
export const leavingOf = ({ shape }: Kind<DescMessage>, { json, proto, ...stored }: Stored): Leaving => ({
  json: stored.shape === shape ? json : null,
  proto,
})

/** As the row keeps it, or rendered again if another contract wrote it. */
export function jsonOf({ desc }: Kind<DescMessage>, { json, proto }: Leaving): string {
  return json ?? writeJson(desc, fromBinary(desc, proto ?? noBytes))
}

export const bytesOf = ({ proto }: Leaving): Uint8Array => proto ?? noBytes

const noBytes = new Uint8Array()

export function messageOf<D extends DescMessage>({ desc }: Kind<D>, stored: Stored): MessageShape<D> {
  return fromBinary(desc, stored.proto)
}
