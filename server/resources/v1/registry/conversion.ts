// Converts repos and tags between v1 and v2.
import { create } from '@bufbuild/protobuf'
import type {
  Repo as V1Repo,
  SyncConfig as V1SyncConfig,
  Tag as V1Tag,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import {
  CatalogTier as V1CatalogTier,
  RepoSchema as V1RepoSchema,
  TagSchema as V1TagSchema,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import type { Repo, SyncConfig } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { CatalogTier } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import type { Tag } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import type { V1RepoFields } from '../../registry/repos/table.ts'
import { overlayFromV1, overlayToV1 } from './overlay-conversion.ts'

/** The two enums have the same tiers with different numbers. */
const tiers = [
  [V1CatalogTier.UNKNOWN, CatalogTier.UNSPECIFIED],
  [V1CatalogTier.APPLICATION, CatalogTier.APPLICATION],
  [V1CatalogTier.BASE, CatalogTier.BASE],
  [V1CatalogTier.FIPS, CatalogTier.FIPS],
  [V1CatalogTier.AI, CatalogTier.AI],
  [V1CatalogTier.DEVTOOLS, CatalogTier.DEVTOOLS],
  [V1CatalogTier.COMMERCIAL, CatalogTier.COMMERCIAL],
] as const

/** Not a value of the v2 enum, so that v2 rejects it. */
const invalidTier = -1 as CatalogTier
const tierFromV1 = new Map<V1CatalogTier, CatalogTier>(tiers)
const tierToV1 = new Map<CatalogTier, V1CatalogTier>(tiers.map(([v1, v2]) => [v2, v1]))

/** The fields that callers of v2 can set. An empty description or tier counts as not set. */
export function repoFromV1(repo: V1Repo) {
  const { name, description, catalogTier, bundles, aliases, activeTags, syncConfig, customOverlay } = repo
  return {
    ...{ name, bundles, aliases, activeTags },
    ...(description !== '' && { description }),
    ...(catalogTier !== V1CatalogTier.UNKNOWN && { catalogTier: tierFromV1.get(catalogTier) ?? invalidTier }),
    ...(syncConfig && { syncConfig: syncConfigFromV1(syncConfig) }),
    ...(customOverlay && { customOverlay: overlayFromV1(customOverlay) }),
  }
}

const syncConfigFromV1 = ({ source, google, amazon, azure }: V1SyncConfig) => ({
  ...{ source, google, amazon, azure },
})

/**
 * The fields of an update that only v1 can set. The update replaces them, but keeps the current
 * `expiration` if it is omitted.
 */
export const v1FieldsOf = ({ readme, syncConfig }: V1Repo): V1RepoFields => ({
  readme,
  ...(syncConfig && { syncConfig }),
})

/**
 * The fields of a create that only v1 can set, without the empty ones. For these, a new repo gets
 * defaults, and an existing repo keeps its values.
 */
export function nonEmptyV1FieldsOf({ readme, syncConfig }: V1Repo): V1RepoFields {
  if (!syncConfig) return readme === '' ? {} : { readme }
  const { expiration, apkoOverlay, gracePeriod } = syncConfig
  return {
    ...(readme !== '' && { readme }),
    syncConfig: {
      ...(expiration && { expiration }),
      ...(apkoOverlay !== '' && { apkoOverlay }),
      ...(gracePeriod && { gracePeriod }),
    },
  }
}

export function repoToV1(repo: Repo, readme: string): V1Repo {
  const { uid, name, description = '', bundles, aliases, activeTags, createTime } = repo
  const { syncConfig, customOverlay } = repo
  return create(V1RepoSchema, {
    ...{ id: uid, name, description, bundles, aliases, activeTags, readme },
    ...(syncConfig && { syncConfig: syncConfigToV1(syncConfig) }),
    ...(customOverlay && { customOverlay: overlayToV1(customOverlay) }),
    catalogTier: tierToV1.get(repo.catalogTier ?? CatalogTier.UNSPECIFIED) ?? V1CatalogTier.UNKNOWN,
    ...(createTime && { createTime }),
  })
}

function syncConfigToV1(config: SyncConfig) {
  const { source, uniqueTags, expirationTime, google, amazon, azure, apkoOverlay, gracePeriod } = config
  return {
    ...{ source, uniqueTags, google, amazon, azure, apkoOverlay, gracePeriod },
    ...(expirationTime && { expiration: expirationTime }),
  }
}

export const tagFromV1 = ({ name, digest, deprecated, bundles }: V1Tag) => ({
  ...{ name, digest, deprecated, bundles },
})

export const tagToV1 = ({ uid, name, digest, deprecated, bundles, updateTime }: Tag): V1Tag =>
  create(V1TagSchema, {
    ...{ id: uid, name, digest, deprecated, bundles },
    ...(updateTime && { lastUpdated: updateTime }),
  })
