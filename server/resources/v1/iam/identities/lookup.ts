// Finds the identity for the issuer and subject of a token, among the identities that the caller may see.
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { disjoint } from '../../../../aip/region.ts'
import { userUid } from '../../../../aip/uid.ts'
import type { Grants } from '../../../../policy/grants.ts'
import { grantedRegions } from '../../../../policy/grants.ts'
import { readPage } from '../../../../store/list/read-page.ts'
import { sql } from '../../../../store/sql.ts'
import type { Work } from '../../../../store/work.ts'
import { identities } from '../../../iam/identities/table.ts'
import { messageOf } from '../../../kind.ts'
import { pointRegions } from '../../../list.ts'

export function* findIdentity(grants: Grants, issuer: string, subject: string): Work<Identity | undefined> {
  const visible = grantedRegions(grants, [Capability.CAP_IAM_IDENTITY_LIST])
  const { rows } = yield* readPage(identities.table, {
    regions: disjoint([...visible, ...pointRegions([grants.caller.identity])]),
    filters: [sql`known_by = ${userUid(issuer, subject)}`],
    order: [{ column: 'uid', descending: false }],
    after: undefined,
    skip: 0,
    size: 1,
    form: { kind: 'bytes' },
  })
  const [bytes] = rows as Uint8Array[] // the form is bytes
  return bytes && messageOf(identities, bytes)
}
