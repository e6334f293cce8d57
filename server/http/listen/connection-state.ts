import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** The state of an HTTP/1.1 connection. */
export type ConnectionState = {
  /** The response to the latest request that was parsed. */
  latestResponse: ServerResponse | undefined
  /** Number of responses to pipelined requests that are not sent yet. */
  unsentResponses: number
  /** Number of requests in a row that were answered with a status 4xx. */
  refusals: number
  /** Whether a web page of another site sent one of the requests that `refusals` counts. */
  isUsedByOtherSite: boolean
  /** Whether requests are parsed one at a time (pacing.ts). */
  isPaced: boolean
  /** Whether parsing has ended because of malformed input or abuse. */
  isStopped: boolean
}

export const isUnsent = (response: ServerResponse | undefined): response is ServerResponse =>
  response !== undefined && !response.writableFinished && !response.closed

/** Returns a function that returns the state of a connection. The state is garbage-collected with the connection. */
export function openConnectionStates(): (socket: Duplex) => ConnectionState {
  const states = new WeakMap<Duplex, ConnectionState>()
  return (socket) => {
    let state = states.get(socket)
    if (!state) {
      state = {
        latestResponse: undefined,
        unsentResponses: 0,
        refusals: 0,
        isUsedByOtherSite: false,
        isPaced: false,
        isStopped: false,
      }
      states.set(socket, state)
    }
    return state
  }
}
