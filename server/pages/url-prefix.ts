/** The path of a base URL or of the auth URL, without a slash at its end. The paths below that URL start with it. */
export const prefixOf = (url: string): string => new URL(url).pathname.replace(/\/$/, '')
