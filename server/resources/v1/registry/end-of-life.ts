// Ends of life: which version a tag has, whether its end of life has passed, and its grace period.
import type { PackageVersion, PackageVersionMetadata } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { EolGracePeriodStatus, EolTagStatus } from '@stemma/api/gen/platform/registry/registry_pb.ts'

/** Names of packages for a repo, the best first: the last part of its name, and that part without `-fips`. */
export function packageNamesOf(repo: string): string[] {
  const name = repo.slice(repo.lastIndexOf('/') + 1)
  return name.endsWith('-fips') ? [name, name.slice(0, -'-fips'.length)] : [name]
}

/** The longest version that is the name of the tag or starts it: 3.12 for `3.12`, `3.12.4`, `v3.12-r1`, `3.12-dev`. */
export function versionOfTag(tag: string, versions: readonly PackageVersion[]): PackageVersion | undefined {
  const name = tag.replace(/^v(?=\d)/, '')
  let longest: PackageVersion | undefined
  for (const candidate of versions) {
    const { version } = candidate
    const isMatch =
      name === version || (name.startsWith(version) && /^[._-]/.test(name.slice(version.length)))
    if (isMatch && version.length > (longest?.version.length ?? 0)) longest = candidate
  }
  return longest
}

/** The end of life is the start of the day, in UTC. A version without a date has none. */
export const isEndOfLife = ({ eolDate }: PackageVersion, now: number) =>
  eolDate !== '' && Date.parse(eolDate) <= now

export type GraceState = {
  tagStatus: EolTagStatus
  graceStatus: EolGracePeriodStatus
  /** When the grace period ends, in milliseconds; undefined without one. */
  expiry?: number
}

/** `isEnabled`: whether the repo provides versions during their grace period. */
export function graceOf(
  version: PackageVersion,
  { gracePeriodMonths }: Pick<PackageVersionMetadata, 'gracePeriodMonths'>,
  isEnabled: boolean,
  now: number,
): GraceState {
  if (!isEndOfLife(version, now))
    return { tagStatus: EolTagStatus.TAG_ACTIVE, graceStatus: EolGracePeriodStatus.GRACE_NOT_ELIGIBLE }
  const inactive = { tagStatus: EolTagStatus.TAG_INACTIVE }
  if (version.eolBroken) return { ...inactive, graceStatus: EolGracePeriodStatus.GRACE_BROKEN }
  if (gracePeriodMonths === 0) return { ...inactive, graceStatus: EolGracePeriodStatus.GRACE_NOT_ELIGIBLE }
  const expiry = addMonths(Date.parse(version.eolDate), gracePeriodMonths)
  if (expiry <= now) return { ...inactive, graceStatus: EolGracePeriodStatus.GRACE_EXPIRED, expiry }
  if (!isEnabled) return { ...inactive, graceStatus: EolGracePeriodStatus.GRACE_ELIGIBLE, expiry }
  return { tagStatus: EolTagStatus.TAG_IN_GRACE, graceStatus: EolGracePeriodStatus.GRACE_ACTIVE, expiry }
}

/** A day that the month does not have overflows into the next month, as in published clients. */
function addMonths(time: number, months: number): number {
  const date = new Date(time)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, date.getUTCDate())
}
