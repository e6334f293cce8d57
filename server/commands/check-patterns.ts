// Finds stored identities whose patterns are refused today, by rules that are newer than the identities.
import { fromBinary } from '@bufbuild/protobuf'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import type { FieldViolation } from '../aip/errors.ts'
import { patternFaultsOf } from '../resources/iam/identities/relationship.ts'
import type { Store } from '../store/db.ts'
import { sql } from '../store/sql.ts'

export type UnsafePattern = FieldViolation & { identity: string }

/** Rows are read in batches to limit the memory use. */
const batchSize = 500

export async function findUnsafePatterns(store: Store): Promise<UnsafePattern[]> {
  const unsafe: UnsafePattern[] = []
  for (let after = ''; ; ) {
    const rows = await store.query(
      sql`select uid, proto from identities where uid > ${after} order by uid limit ${batchSize}`,
    )
    for (const [uid, proto] of rows as [string, Uint8Array][]) {
      const faults = patternFaultsOf(fromBinary(IdentitySchema, proto))
      unsafe.push(...faults.map((fault) => ({ identity: uid, ...fault })))
      after = uid
    }
    if (rows.length < batchSize) return unsafe
  }
}
