// Replaces control characters in text for a terminal. Text from the server could contain control characters that change
// the title, the clipboard or the content of the terminal.

/** Escape sequences that this program writes itself: they set a style such as bold, or erase a line. */
const ownSequence = /\x1b\[(?:\d{1,3}(?:;\d{1,3})*)?m|\r\x1b\[K/
/** Every control character except tabs, line feeds, and carriage returns before a line feed. */
const controlCharacter = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)/
const ownOrControl = new RegExp(`(${ownSequence.source})|${controlCharacter.source}`, 'g')

/** Replaces control characters with spaces, except in the sequences that this program writes itself. */
export const plainText = (text: string): string =>
  text.replace(ownOrControl, (_, sequence: string | undefined) => sequence ?? ' ')

/** Makes a stream write plain text if it is a terminal. Files and pipes get unchanged text, because programs read it. */
export function protectTerminal(stream: NodeJS.WriteStream): void {
  if (!stream.isTTY) return
  const write = stream.write.bind(stream)
  stream.write = (text: string | Uint8Array) => write(typeof text === 'string' ? plainText(text) : text)
}
