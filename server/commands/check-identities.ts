// Finds stored identities with patterns that newer rules refuse, and identities for which a create or
// update would return a warning.
import { fromBinary } from '@bufbuild/protobuf'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { judgePattern } from '../claims/pattern-rule.ts'
import { patternFaultsOf } from '../resources/iam/identities/relationship.ts'
import { relationshipWarnings } from '../resources/iam/identities/relationship-warnings.ts'
import type { Store } from '../store/db.ts'
import { sql } from '../store/sql.ts'

export type IdentityFinding = {
  kind: 'unsafe pattern' | 'warning'
  identity: string
  field: string
  description: string
}

/** Rows are read in batches to limit the memory use. */
const batchSize = 500

export async function checkIdentities(store: Store): Promise<IdentityFinding[]> {
  const findings: IdentityFinding[] = []
  for (let after = ''; ; ) {
    const rows = await store.query(
      sql`select uid, proto from identities where uid > ${after} order by uid limit ${batchSize}`,
    )
    for (const [uid, proto] of rows as [string, Uint8Array][]) {
      findings.push(...findingsOf(uid, proto))
      after = uid
    }
    if (rows.length < batchSize) return findings
  }
}

function* findingsOf(uid: string, proto: Uint8Array): Generator<IdentityFinding> {
  const identity = fromBinary(IdentitySchema, proto)
  for (const { field, description } of patternFaultsOf(identity))
    yield { kind: 'unsafe pattern', identity: uid, field, description }
  for (const { field, description } of relationshipWarnings(identity, judgePattern))
    yield { kind: 'warning', identity: uid, field, description }
}
