import type { SyncConfig as V1SyncConfig } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { RepoSchema } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { kindOf } from '../../kind.ts'
import { renderedWithSize } from '../repo-size.ts'

export const repos = kindOf(RepoSchema, 'repos', {
  hasChildren: true,
  rendered: renderedWithSize,
  columns: {
    /** Null without a source, so that the indexes on this column omit the repo. */
    source: ({ syncConfig }) => syncConfig?.source ?? null,
    /** This and the next column are for pulls and pushes, which do not decode the resource. */
    public: ({ public: isPublic }) => (isPublic ? 1 : 0),
    /** Separated by spaces: the patterns of tags contain none. */
    immutable_tags: ({ immutableTags }) => immutableTags.join(' '),
  },
  /**
   * The readme is not part of the resource, since lists do not show it. `retention_time` is the time at which the
   * retention rules are applied next; 0 if there are none. `public_since` is the time since which everybody may pull by the
   * present name (server/store/public-names.ts).
   */
  hiddenFields: { readme: 'readme' },
  extraColumns: { readme: 'text', retention_time: 'integer', public_since: 'integer' },
})

/**
 * Fields that a create or update can set only in v1: v2 has a call of its own for the readme, and
 * the others are output-only there. Fields that are left out keep their values, or get their
 * defaults in a new repo.
 */
export type V1RepoFields = {
  readme?: string
  syncConfig?: Partial<Pick<V1SyncConfig, 'expiration' | 'apkoOverlay' | 'gracePeriod'>>
}
