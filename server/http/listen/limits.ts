/** The longest path and query of a request. */
export const maxUrlBytes = 8 * 1024
/** The largest headers of a request: their lines over HTTP/1.1, and what RFC 9113 section 6.5.2 counts over HTTP/2. */
export const maxHeaderBytes = 16 * 1024

/** Responses of one connection that wait for the client. The connection of a client that sends more requests is closed. */
export const maxUnsentResponses = 100
/** Requests in a row that are answered with a status 4xx. The connection is then closed. */
export const maxRefusals = 1000

/** The minimum rate at which a client must read a response, after some grace. 64 KiB then take at most 7 seconds. */
export const minBytesPerSecond = 10_000
/** Unsent bytes of gRPC responses up to 64 KiB. Larger ones have a budget of their own (server/rpc/unsent-budget.ts). */
export const maxUnsentReplyBytes = 256 * 1024 * 1024
/** Unsent bytes of all HTTP/1.1 connections: the budget of large responses, plus the maximum of small ones over gRPC. */
export const maxUnsentBytes = 512 * 1024 * 1024 + maxUnsentReplyBytes
