/** The longest path and query of a request. */
export const maxUrlBytes = 8 * 1024
/** The largest headers of a request: their lines over HTTP/1.1, and what RFC 9113 section 6.5.2 counts over HTTP/2. */
export const maxHeaderBytes = 16 * 1024

/** Responses of one connection that wait for the client. The connection of a client that sends more requests is closed. */
export const maxUnsentResponses = 100
/** Requests in a row that are answered with a status 4xx. The connection is then closed. */
export const maxRefusals = 1000

/** A response must be read at this rate, after some grace. A call of 64 KiB then takes 7 seconds. */
export const minBytesPerSecond = 10_000
/** Of responses up to 64 KiB over gRPC. Larger ones have a budget of their own (server/rpc/unsent-budget.ts). */
export const maxUnsentReplyBytes = 256 * 1024 * 1024
/** Of all HTTP/1.1 connections: the budget of large responses, and as many small ones. */
export const maxUnsentBytes = 512 * 1024 * 1024 + maxUnsentReplyBytes

/** In milliseconds. Unless the comment says otherwise: how long a client may take. */
export type Limits = {
  /** To send the bytes that show its protocol, and to complete the TLS handshake. */
  firstBytes: number
  /** To send the headers of a request. */
  headers: number
  /** To send a complete request. */
  request: number
  /** To send the next request on an open connection. */
  keepAlive: number
  /** How long a connection may be without any traffic. Longer than a call without a stream may take. */
  idle: number
  /** To go on sending after its request was rejected, so that it can read the error. */
  linger: number
  /** The interval at which the times for headers, requests and unread responses are checked. */
  checkInterval: number
  /** To send its first bytes when the server is stopping. */
  firstBytesAtStop: number
  /** How long the network of an abusive connection is slowed down. */
  penalty: number
  /** The pause between two new connections of such a network. */
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
