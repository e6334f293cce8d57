/** Maximum size of the path and query of a request together. */
export const maxUrlBytes = 8 * 1024
/**
 * Maximum size of the headers of a request: over HTTP/1.1 the bytes of their lines, over HTTP/2 the size that RFC 9113
 * section 6.5.2 defines.
 */
export const maxHeaderBytes = 16 * 1024

/** Maximum number of unsent responses of a connection. If its client sends more requests, the connection is closed. */
export const maxUnsentResponses = 100
/** After this many requests in a row that are answered with a status 4xx, the connection is closed. */
export const maxRefusals = 1000

/** The minimum rate at which a client must read, after a grace period. At this rate, 64 KiB take 7 seconds. */
export const minBytesPerSecond = 10_000
/**
 * Maximum number of unsent bytes of all small gRPC responses together. A response is small up to 64 KiB; larger ones
 * have a budget of their own (server/rpc/unsent-budget.ts).
 */
export const maxUnsentSmallReplyBytes = 256 * 1024 * 1024
/**
 * Maximum number of unsent bytes of all HTTP/1.1 connections together, for large and small responses. Equal to the sum of
 * the two maximums of gRPC.
 */
export const maxUnsentHttp1Bytes = 512 * 1024 * 1024 + maxUnsentSmallReplyBytes

/**
 * Number of connections that are accepted in one turn of the event loop. With only one, attackers who connect again and
 * again would keep the accept queue full, and other clients would wait in it.
 */
export const acceptsPerTurn = 8
