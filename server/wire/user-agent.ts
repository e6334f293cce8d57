/** Longer headers are cut. */
const maxLength = 256

const unprintable = /[^\x20-\x7e]/g

/** A `User-Agent` header for the event log. Characters that could forge lines of a log are replaced. */
export const printableUserAgent = (header: string): string =>
  header.slice(0, maxLength).replaceAll(unprintable, '?')
