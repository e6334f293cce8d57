import { defaultLingerMs } from '../../wire/end-after-request.ts'

/**
 * All times are in milliseconds. Unless its comment says otherwise, each is the longest time that a client may take.
 */
export type TimeoutsMs = {
  /** To send the bytes that show its protocol, and to complete the TLS handshake. */
  firstBytes: number
  /** To send the headers of a request. */
  headers: number
  /** To send a complete request. */
  request: number
  /** To send the next request on an open connection. */
  keepAlive: number
  /**
   * How long a connection may have no traffic while a request is being answered and nothing is
   * unsent. Also the grace for slow readers, in addition to the time that unsent bytes take at the
   * minimum rate. Must be longer than the longest call that is not a stream.
   */
  idle: number
  /**
   * How long a connection stays open after a rejection while its client is still sending. If it
   * were closed at once, the client could not read the error.
   */
  linger: number
  /** The interval at which the times for headers, requests, unread responses and idle connections are checked. */
  checkInterval: number
  /** To send its first bytes when the server is stopping. */
  firstBytesAtStop: number
  /** How long the network of an abusive connection is slowed down. */
  penalty: number
  /** The pause between two new connections from the network of an abusive connection. */
  penaltyPause: number
}

export const defaultTimeoutsMs: TimeoutsMs = {
  firstBytes: 10_000,
  headers: 10_000,
  request: 60_000,
  keepAlive: 65_000,
  idle: 120_000,
  linger: defaultLingerMs,
  checkInterval: 2_000,
  firstBytesAtStop: 1_000,
  penalty: 60_000,
  penaltyPause: 100,
}
