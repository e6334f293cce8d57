// Removes control characters from text for a terminal. In text from the server, they could change the title, the
// clipboard or the content of the terminal.

/** The sequences that this program writes itself: a style such as bold, and the erasing of a line. */
const ownSequence = /\x1b\[(?:\d{1,3}(?:;\d{1,3})*)?m|\r\x1b\[K/
/** Every control character except tabs, line feeds, and carriage returns before a line feed. */
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
