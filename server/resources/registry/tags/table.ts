import { TagSchema } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { kindOf } from '../../kind.ts'
import { tagTypeOf } from './tag-type.ts'

export const tags = kindOf(TagSchema, 'tags', {
  columns: {
    digest: ({ digest }) => digest,
    /** See tag-type.ts. */
    sort: ({ name }) => tagTypeOf(name),
  },
})
