import { RepoSchema } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { kindOf } from '../../kind.ts'

export const repos = kindOf(RepoSchema, 'repos', {
  hasChildren: true,
  /** The readme is not part of the resource, since lists do not show it. */
  extraColumns: { readme: 'text' },
})
