import { TagSchema } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { kindOf } from '../../kind.ts'
import { sortOf } from './sort.ts'

export const tags = kindOf(TagSchema, 'tags', {
  columns: {
    digest: ({ digest }) => digest,
    sort: ({ name }) => sortOf(name),
  },
})
