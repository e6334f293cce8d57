/** The path of a base URL, without a slash at its end: it precedes the paths of all links to this server. */
export const prefixOf = (baseUrl: string): string => new URL(baseUrl).pathname.replace(/\/$/, '')
