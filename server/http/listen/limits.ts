/** The longest path and query of a request. */
export const maxUrlBytes = 8 * 1024
/** The largest headers of a request: their lines over HTTP/1.1, and what RFC 9113 section 6.5.2 counts over HTTP/2. */
export const maxHeaderBytes = 16 * 1024

/** Responses of one connection that wait for the client. The connection of a client that sends more requests is closed. */
export const maxUnsentResponses = 100
/** Requests in a row that are answered with an error of the client. The connection is then closed. */
export const maxRefusals = 1000

/** How long a client may take, in milliseconds. */
export type Limits = {
  /** To send the bytes that show its protocol, and to complete the TLS handshake. */
  firstBytes: number
  headers: number
  /** To send a complete request. */
  request: number
  /** To send the next request on an open connection. */
  keepAlive: number
  /** To neither send nor read a single byte. Longer than a call without a stream may take. */
  idle: number
  /** To go on sending after its request was rejected, so that it can read the error. */
  linger: number
  /** The interval at which slow requests are looked for. */
  checkInterval: number
  /** To send its first bytes when the server is stopping. */
  firstBytesAtStop: number
  /** How long the address of an abusive connection is slowed down. */
  penalty: number
  /** The pause between two new connections of such an address. */
  penaltyPause: number
}

export const defaultLimits: Limits = {
  firstBytes: 10_000,
  headers: 10_000,
  request: 60_000,
  keepAlive: 65_000,
  idle: 120_000,
  linger: 5_000,
  checkInterval: 2_000,
  firstBytesAtStop: 1_000,
  penalty: 60_000,
  penaltyPause: 100,
}
