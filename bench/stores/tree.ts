// The groups of an organization for benchmarks: teams, each with a hundred groups below it.
import { createHash, randomBytes } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import type { Group } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { newChildUid } from '../../server/aip/uid.ts'

const teamSize = 100

/** Uids begin with a time: random times spread the uids as years of use would. */
const randomTime = () => Math.random() * 2 ** 40

/** Parents come before their children. Names are hashes, so their order differs from the order of uids and times. */
export function* treeBelow(organization: string, count: number): Generator<{ uid: string; group: Group }> {
  let team = organization
  for (let at = 0; at < count; at++) {
    const isTeam = at % (teamSize + 1) === 0
    const uid = newChildUid(isTeam ? organization : team, randomTime(), randomBytes)
    if (isTeam) team = uid
    const name = `${isTeam ? 'team' : 'group'}-${createHash('md5').update(String(at)).digest('hex').slice(0, 12)}`
    yield { uid, group: create(GroupSchema, { name, description: 'Where the work of this team is kept.' }) }
  }
}
