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
