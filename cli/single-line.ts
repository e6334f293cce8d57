/** Replaces line breaks, and control characters that would change the state of a terminal, with spaces. */
export const singleLine = (text: string): string => text.replace(/[\x00-\x1f\x7f-\x9f]+/g, ' ')
