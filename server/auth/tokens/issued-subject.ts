/** The subject of an access token that this server has just signed. */
export const issuedSubject = (token: string): string =>
  (JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { sub: string }).sub
