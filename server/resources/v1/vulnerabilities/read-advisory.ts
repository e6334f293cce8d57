import type { Advisory } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { notFound } from '../../../aip/errors.ts'
import { readBytes } from '../../../store/table.ts'
import type { Work } from '../../../store/work.ts'
import type { Kind } from '../../kind.ts'
import { messageOf } from '../../kind.ts'

/** Reads an advisory from the first of these tables that contains it. */
export function* readAdvisory(uid: string, ...kinds: Kind<typeof AdvisorySchema>[]): Work<Advisory> {
  for (const kind of kinds) {
    const bytes = (yield* readBytes(kind.table, [uid])).get(uid)
    if (bytes) return messageOf(kind, bytes)
  }
  throw notFound(AdvisorySchema.typeName, uid)
}
