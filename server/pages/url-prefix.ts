/** The path of a base URL or of the auth URL, without a slash at its end: it precedes the paths of all links there. */
export const prefixOf = (url: string): string => new URL(url).pathname.replace(/\/$/, '')
