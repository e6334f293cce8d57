import { TagSchema } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { kindOf } from '../../kind.ts'
import { tagTypeOf } from './tag-type.ts'

export const tags = kindOf(TagSchema, 'tags', {
  columns: {
    digest: ({ digest }) => digest,
    /** The types of the tag as bits (tag-type.ts), not a sort order. */
    sort: ({ name }) => tagTypeOf(name),
  },
  /** When the tag was last pushed, even if that did not change it. */
  extraColumns: { push_time: 'integer' },
})
