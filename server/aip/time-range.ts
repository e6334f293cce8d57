// The range of timestamps and durations. JSON cannot express values beyond it, but a binary request can contain them.
import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt'

const yearOne = BigInt(Date.parse('0001-01-01T00:00:00Z') / 1000)
const yearTenThousand = BigInt(Date.parse('+010000-01-01T00:00:00Z') / 1000)
/** 10,000 years. */
const maxDurationSeconds = 315_576_000_000n
const nanosPerSecond = 1_000_000_000

type Time = Timestamp | Duration

export const isTime = (message: { $typeName: string }): message is Time =>
  message.$typeName === 'google.protobuf.Timestamp' || message.$typeName === 'google.protobuf.Duration'

/** The range in words, for the description of a violation. */
export const rangeOf = ({ $typeName }: Time) =>
  $typeName === 'google.protobuf.Timestamp'
    ? 'must be from 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z'
    : 'must be at most 10,000 years, with seconds and nanos of the same sign'

export function isInRange(time: Time): boolean {
  const { seconds, nanos } = time
  if (time.$typeName === 'google.protobuf.Timestamp')
    return seconds >= yearOne && seconds < yearTenThousand && nanos >= 0 && nanos < nanosPerSecond
  const haveSameSign = (seconds >= 0n && nanos >= 0) || (seconds <= 0n && nanos <= 0)
  const isWithinLimit = seconds >= -maxDurationSeconds && seconds <= maxDurationSeconds
  return haveSameSign && isWithinLimit && Math.abs(nanos) < nanosPerSecond
}
