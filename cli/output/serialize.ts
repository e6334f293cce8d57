// JSON and YAML without characters that control a terminal.
import type { JsonObject } from '@bufbuild/protobuf'

const replacement = '\ufffd'

/** Also escapes U+007F to U+009F: JSON.stringify leaves them unchanged, but some terminals interpret them. */
export const toJson = (value: JsonObject, indent = 2): string =>
  JSON.stringify(value, undefined, indent).replace(
    /[\x7f-\x9f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  )

export async function toYaml(value: unknown): Promise<string> {
  // Loaded only here: it consists of 72 modules, and most commands do not need it.
  const { stringify } = await import('yaml')
  return replaceControls(stringify(value, { lineWidth: 0 }))
}

/** Replaces control characters except tabs and line breaks. */
export const replaceControls = (text: string): string =>
  text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, replacement)
