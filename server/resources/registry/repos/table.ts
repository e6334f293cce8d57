import { RepoSchema } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { kindOf } from '../../kind.ts'

export const repos = kindOf(RepoSchema, 'repos', {
  isPlace: true,
  isAtPlaces: false,
  columns: {
    /** Beside the resource, since lists do not show it. */
    readme: () => null,
  },
})
