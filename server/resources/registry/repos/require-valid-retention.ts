import type { Duration } from '@bufbuild/protobuf/wkt'
import { durationMs } from '@bufbuild/protobuf/wkt'
import type { Retention } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { invalidField } from '../../../aip/errors.ts'

const hourMs = 3_600_000
/** Gives a client that has pushed a manifest the time to push the index that contains it. */
const minPeriodMs = hourMs
const maxPeriodMs = 3653 * 24 * hourMs
const maxKept = 10_000

/** Checks what the contract cannot express. */
export function requireValidRetention({ rules, deleteUntaggedAfter }: Retention): void {
  requirePeriod('retention.delete_untagged_after', deleteUntaggedAfter)
  for (const [at, { tags, keepMostRecent, keepPushedWithin }] of rules.entries()) {
    const path = `retention.rules[${at}]`
    if (keepMostRecent > maxKept)
      throw invalidField(`${path}.keep_most_recent`, `must be from 1 to ${maxKept}`)
    requirePeriod(`${path}.keep_pushed_within`, keepPushedWithin)
    if (tags.length === 0 && keepMostRecent === 0 && !keepPushedWithin)
      throw invalidField(path, 'must have tags, keep_most_recent or keep_pushed_within', [
        'keep_most_recent',
        'keep_pushed_within',
      ])
  }
}

function requirePeriod(field: string, period: Duration | undefined): void {
  if (!period) return
  const ms = durationMs(period)
  if (ms < minPeriodMs || ms > maxPeriodMs)
    throw invalidField(field, 'must be from 1 hour to 10 years, such as 1209600s for 14 days')
}
