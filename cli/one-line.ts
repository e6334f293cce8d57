/** What a server says may hold line breaks, or codes that a terminal obeys. */
export const oneLine = (text: string): string => text.replace(/[\x00-\x1f\x7f-\x9f]+/g, ' ')
