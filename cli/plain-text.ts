// Control characters in text of the server could change the state of a terminal: its title, clipboard or content.

/** A style such as bold, and the erasing of a line: the sequences that this program writes itself. */
const ownSequence = /\x1b\[(?:\d{1,3}(?:;\d{1,3})*)?m|\r\x1b\[K/
/** Line breaks and tabs are allowed, a carriage return only before its line feed. */
const controlCharacter = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)/
const ownOrControl = new RegExp(`(${ownSequence.source})|${controlCharacter.source}`, 'g')

/** Replaces control characters with spaces. */
export const plainText = (text: string): string =>
  text.replace(ownOrControl, (_, own: string | undefined) => own ?? ' ')

/** Makes a terminal print plain text only. Files and pipes get the text as it is, because programs read it. */
export function protectTerminal(stream: NodeJS.WriteStream): void {
  if (!stream.isTTY) return
  const write = stream.write.bind(stream)
  stream.write = (text: string | Uint8Array) => write(typeof text === 'string' ? plainText(text) : text)
}
