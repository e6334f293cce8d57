import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { timestampMs } from '@bufbuild/protobuf/wkt'

/** In UTC, as both OSV and OpenVEX write times. */
export const timeText = (time: number) => new Date(time).toISOString().replace('.000Z', 'Z')

/** Whatever is kept has its times. */
export const millisecondsOf = (time: Timestamp | undefined) => (time ? timestampMs(time) : 0)
