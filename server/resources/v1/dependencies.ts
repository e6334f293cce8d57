import type { GroupInviteWithGroupRequest } from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import type { GroupInvite } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import type { ImageConfig } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import type { Advisory } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { Demand, WriteGrants } from '../../policy/admit.ts'
import type { Call } from '../../rpc/call.ts'
import type { UnsentBudget } from '../../rpc/unsent-budget.ts'
import type { Work } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'
import type { MaybePromise } from '../../wire/maybe-promise.ts'
import type { ChartContent, Dependencies, Sbom } from '../dependencies.ts'
import type { V1RepoFields } from '../registry/repos/table.ts'
import type { CallV2 } from './call-v2.ts'

/** Passed to the methods of every v1 service. */
export type V1Dependencies = Dependencies & {
  callV2: CallV2
  /** Calls v2 and sets the fields of the repo that only v1 can set, in the same transaction. */
  callV2WithRepoFields(fields: V1RepoFields): CallV2
  /** Calls v2, which then also creates tags without a digest. */
  callV2WithOptionalDigest: CallV2
  advisoryWrites: AdvisoryWrites
  ownerInvites: OwnerInvites
  images: ImageReads
  /** The clock of `call.deadline`, in milliseconds. It is real time even where a test sets `now`. */
  deadlineClock(): number
  /** Awaited before each further page of a list, so that other calls can run. */
  waitForTurn(identity: string): Promise<void>
  /** Limits the bytes of large replies that are not sent yet. */
  unsent: UnsentBudget
}

/** Creates organizations for others, which v2 has no call for. */
export type OwnerInvites = {
  admit(call: Call<GroupInviteWithGroupRequest>): Work<WriteGrants>
  /** Returns the invite for the owner, with its code. */
  create(call: Call<GroupInviteWithGroupRequest>, grants: WriteGrants): Work<GroupInvite>
}

/** The writes to advisories, which v2 has no calls for. */
export type AdvisoryWrites = {
  /** Returns the new uid. */
  create(access: WriteAccess, group: string, draft: Advisory): Work<string>
  revise(access: WriteAccess, uid: string, change: (advisory: Advisory) => void): Work<Advisory>
  withdraw(access: WriteAccess, uid: string): Work<void>
}

/**
 * The digest is that of an image, or of an index that contains the image. `architecture` selects the
 * image in an index; `''` means amd64.
 */
export type WantedImage = { digest: string; architecture: string }

/**
 * Reads of images, which v2 has no calls for. The scope of the demand is the repo; for
 * `countManifests`, it may also be a group.
 */
export type ImageReads = {
  readConfig(demand: Demand, image: WantedImage): Promise<ImageConfig>
  /** Calls `images` for a permitted caller only. Returns the SBOM of each image, which is read on demand. */
  findSboms(demand: Demand, images: () => readonly WantedImage[]): Promise<FoundSbom[]>
  readChart(demand: Demand, digest: string): Promise<ChartContent>
  /** The number of manifests of a repo or below a group. */
  countManifests(demand: Demand): MaybePromise<number>
}

export type FoundSbom = {
  /** Digest of the image. */
  digest: string
  /** Undefined if the image has no SBOM. */
  read(wanted: Sbom['kind']): Promise<Sbom | undefined>
}
