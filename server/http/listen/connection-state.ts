import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** The state of an HTTP/1.1 connection. */
export type ConnectionState = {
  /** The response to the latest request that was parsed. */
  latest: ServerResponse | undefined
  /** Responses to pipelined requests that are not sent yet. */
  unsent: number
  /** Requests in a row that were answered with a status 4xx. */
  refusals: number
  /** Whether a web page of another site sent one of these requests. */
  isUsedByOtherSite: boolean
  /** Requests are parsed one at a time (pacing.ts). */
  isPaced: boolean
  /** Nothing more is parsed, because of malformed input or abuse. */
  isStopped: boolean
}

/** The state of each connection. Entries disappear with their connections. */
export function openConnectionStates(): (socket: Duplex) => ConnectionState {
  const states = new WeakMap<Duplex, ConnectionState>()
  return (socket) => {
    let state = states.get(socket)
    if (!state) {
      state = {
        latest: undefined,
        unsent: 0,
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
