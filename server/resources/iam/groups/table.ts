import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { kindOf } from '../../kind.ts'

export const groups = kindOf(GroupSchema, { name: 'groups', columns: [], isPlace: true })
