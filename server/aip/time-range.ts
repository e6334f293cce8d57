// Which timestamps and durations there are. JSON cannot write what lies beyond them; a binary request can hold
// it all the same.
import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt'

const yearOne = BigInt(Date.parse('0001-01-01T00:00:00Z') / 1000)
const yearTenThousand = BigInt(Date.parse('+010000-01-01T00:00:00Z') / 1000)
const longestDuration = 315_576_000_000n
const nanosInASecond = 1_000_000_000

type Time = Timestamp | Duration

export const isTime = (message: { $typeName: string }): message is Time =>
  message.$typeName === 'google.protobuf.Timestamp' || message.$typeName === 'google.protobuf.Duration'

export function isInRange(time: Time): boolean {
  const { seconds, nanos } = time
  if (time.$typeName === 'google.protobuf.Timestamp')
    return seconds >= yearOne && seconds < yearTenThousand && nanos >= 0 && nanos < nanosInASecond
  const isOneWay = (seconds >= 0n && nanos >= 0) || (seconds <= 0n && nanos <= 0)
  const isShort = seconds >= -longestDuration && seconds <= longestDuration
  return isOneWay && isShort && Math.abs(nanos) < nanosInASecond
}
