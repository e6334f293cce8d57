// The groups of an organization that benchmarks read: teams, each with a hundred groups below it.
import { createHash, randomBytes } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import type { Group } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { newChildUid } from '../../server/aip/uid.ts'

const teamSize = 100

/** Of years of work, what is made one after the other does not lie together. */
const anyTime = () => Math.random() * 2 ** 40

/** In the order in which they must be made. Names come in no order, neither that of uids nor that of time. */
export function* treeBelow(organization: string, count: number): Generator<{ uid: string; group: Group }> {
  let team = organization
  for (let at = 0; at < count; at++) {
    const isTeam = at % (teamSize + 1) === 0
    const uid = newChildUid(isTeam ? organization : team, anyTime(), randomBytes)
    if (isTeam) team = uid
    const name = `${isTeam ? 'team' : 'group'}-${createHash('md5').update(String(at)).digest('hex').slice(0, 12)}`
    yield { uid, group: create(GroupSchema, { name, description: 'Where the work of this team is kept.' }) }
  }
}
