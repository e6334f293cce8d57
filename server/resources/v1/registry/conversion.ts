// Repos and tags of v1 made into those of v2, and the other way round.
import { create } from '@bufbuild/protobuf'
import type { Repo as OldRepo, Tag as OldTag } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import {
  CatalogTier as OldCatalogTier,
  RepoSchema as OldRepoSchema,
  TagSchema as OldTagSchema,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import type { Repo } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { CatalogTier } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import type { Tag } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'

/** The names are the same, the numbers are not. */
const tiers = [
  [OldCatalogTier.UNKNOWN, CatalogTier.UNSPECIFIED],
  [OldCatalogTier.APPLICATION, CatalogTier.APPLICATION],
  [OldCatalogTier.BASE, CatalogTier.BASE],
  [OldCatalogTier.FIPS, CatalogTier.FIPS],
  [OldCatalogTier.AI, CatalogTier.AI],
  [OldCatalogTier.DEVTOOLS, CatalogTier.DEVTOOLS],
  [OldCatalogTier.COMMERCIAL, CatalogTier.COMMERCIAL],
] as const

/** No tier of v2, so that v2 refuses it. */
const noTier = -1 as CatalogTier
const tierOf = new Map<OldCatalogTier, CatalogTier>(tiers)
const oldTierOf = new Map<CatalogTier, OldCatalogTier>(tiers.map(([old, tier]) => [tier, old]))

/** What callers set; what is empty is not set. */
export const repoOf = ({ name, description, catalogTier, bundles, aliases, activeTags }: OldRepo) => ({
  ...{ name, bundles, aliases, activeTags },
  ...(description !== '' && { description }),
  ...(catalogTier !== OldCatalogTier.UNKNOWN && { catalogTier: tierOf.get(catalogTier) ?? noTier }),
})

export function oldRepoOf(repo: Repo, readme: string): OldRepo {
  const { uid, name, description = '', bundles, aliases, activeTags, createTime } = repo
  return create(OldRepoSchema, {
    ...{ id: uid, name, description, bundles, aliases, activeTags, readme },
    catalogTier: oldTierOf.get(repo.catalogTier ?? CatalogTier.UNSPECIFIED) ?? OldCatalogTier.UNKNOWN,
    ...(createTime && { createTime }),
  })
}

export const tagOf = ({ name, digest, deprecated, bundles }: OldTag) => ({
  ...{ name, digest, deprecated, bundles },
})

export const oldTagOf = ({ uid, name, digest, deprecated, bundles, updateTime }: Tag): OldTag =>
  create(OldTagSchema, {
    ...{ id: uid, name, digest, deprecated, bundles },
    ...(updateTime && { lastUpdated: updateTime }),
  })
