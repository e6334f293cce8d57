import type { IncomingHttpHeaders } from 'node:http'

export type RequestIds = {
  /** The id that the caller sent, or a new one. */
  of(headers: IncomingHttpHeaders): string
  next(): string
}

const firstInSeries = 100_000
const lastInSeries = 999_999

/**
 * New ids are a random prefix and a counter of six digits, in the form of a UUID. They must be unique among all copies
 * of the server but need not be hard to guess, and a counter is faster than random bytes for every request.
 */
export function openRequestIds(randomUuid: () => string): RequestIds {
  let prefix = ''
  let counter = lastInSeries

  function next(): string {
    if (counter === lastInSeries) {
      prefix = randomUuid().slice(0, -6)
      counter = firstInSeries - 1
    }
    counter++
    return `${prefix}${counter}`
  }

  return {
    next,
    of(headers) {
      const sent = headers['x-request-id'] ?? headers.cgrequestid // the latter is sent by published clients
      return typeof sent === 'string' && harmless.test(sent) ? sent : next()
    },
  }
}

/** Ids are written to logs and headers as they are. */
const harmless = /^[A-Za-z0-9._-]{1,128}$/
