import type { Outbound } from './outbound.ts'
import { OutboundError } from './outbound.ts'

/** Fetches a JSON document. `isTrusted` has the same meaning as for `Outbound`. */
export type FetchJson = (url: string, isTrusted: boolean) => Promise<unknown>

export const fetchJsonBy =
  (outbound: Outbound): FetchJson =>
  async (url, isTrusted) => {
    const { status, body } = await outbound(url, isTrusted)
    if (status !== 200) throw new OutboundError(`${url} answered with status ${status}`)
    try {
      return JSON.parse(body.toString())
    } catch (cause) {
      throw new OutboundError(`${url} did not send JSON`, { cause })
    }
  }
