import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { timestampMs } from '@bufbuild/protobuf/wkt'

/** In UTC, in the format of OSV and OpenVEX documents. */
export const formatTime = (milliseconds: number) => new Date(milliseconds).toISOString().replace('.000Z', 'Z')

/** Stored advisories always have their times; 0 only satisfies the type. */
export const millisecondsOf = (time: Timestamp | undefined) => (time ? timestampMs(time) : 0)
