// Makes of a foreign record all that is stored of it, without a look at the store. Everything is made from the
// record and its source, so that an import which was broken off and begun again leaves the same store.
import { hash } from 'node:crypto'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Advisory } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { rootOf } from '../../../aip/uid.ts'
import type { Entry } from '../../../store/table.ts'
import { entryOf, messageOf } from '../../kind.ts'
import { newAdvisoryId } from '../advisory-id.ts'
import { advisories } from './table.ts'
import { hashOf } from './terms.ts'
import { columnsOf, requireSize, requireValid } from './write.ts'

/** An advisory as a record of others tells it. */
export type Item = {
  /** Names the record and its part, the same at every import. */
  source: string
  format: string
  record: string
  draft: Advisory
  origin: string
  createTime: number
  updateTime: number
  withdrawTime: number | undefined
}

/** Plain values alone, so that it can come from another thread. */
export type Prepared = Pick<
  Item,
  'source' | 'format' | 'record' | 'origin' | 'updateTime' | 'withdrawTime'
> & {
  /** Of the organization and the source. */
  hash: number
  /** Tells whether the record is another than the one that was imported before. */
  digest: string
  entry: Entry
  /** Whether the record itself says under which name it is published. */
  isNamed: boolean
  hashes: number[]
}

/** Told by what an import makes of a record as well: another version of it may make something else. */
const edition = 1

/** Complains of what is wrong with it, as calls do. The draft becomes part of what is made. */
export function prepare(group: string, { draft, createTime, ...item }: Item): Prepared {
  const { source, format, record, origin, updateTime, withdrawTime } = item
  requireValid(draft)
  const isNamed = draft.advisoryId !== ''
  const random = seeded(`${group}\0${source}`)
  const uid = `${group}/${random(8).toString('hex')}`
  for (const event of draft.events) event.uid = `${uid}/${random(8).toString('hex')}`
  const advisory = Object.assign(draft, {
    ...{ uid, advisoryId: isNamed ? draft.advisoryId : newAdvisoryId(random) },
    ...{ createTime: timestampFromMs(createTime), updateTime: timestampFromMs(updateTime) },
  })
  const { columns, hashes } = columnsOf(advisory, origin)
  const entry = entryOf(advisories, advisory, { uid, name: '', createTime, updateTime }, columns)
  requireSize(entry.proto)
  return {
    ...{ source, format, record, origin, updateTime, withdrawTime, entry, isNamed },
    hash: hashOf(`${rootOf(group)}\n${source}`),
    digest: hash('sha256', `${edition}\0${withdrawTime ?? ''}\0${record}`, 'base64url'),
    hashes: [...hashes],
  }
}

/** The same under a name of its own, where the one it brings is taken. */
export function renamed(group: string, item: Prepared): Prepared {
  const draft = messageOf(advisories, item.entry.proto)
  draft.aliases = [...new Set([draft.advisoryId, ...draft.aliases])]
  draft.advisoryId = ''
  return prepare(group, { ...item, draft, createTime: item.entry.createTime })
}

/** Bytes that look random and are made from a text. */
export function seeded(seed: string): (size: number) => Buffer {
  let count = 0
  let left = Buffer.alloc(0)
  return (size) => {
    while (left.length < size) left = Buffer.concat([left, hash('sha256', `${seed}\0${count++}`, 'buffer')])
    const bytes = left.subarray(0, size)
    left = left.subarray(size)
    return bytes
  }
}
