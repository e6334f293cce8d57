// The text of a statement, split at its placeholders: ['select a from t where b = ', ' and c = ', ''] has two.
// Engines cache prepared statements by the identity of a template, so the same text should be the same array.

export type Template = readonly string[]

/** A single placeholder. */
export const placeholderTemplate: Template = Object.freeze(['', ''])

export const placeholderCount = (template: Template): number => template.length - 1

/** Puts fragments between pieces of text: text[0], fragments[0], text[1], fragments[1], … */
export function compose(text: readonly string[], fragments: readonly Template[]): Template {
  const template = [text[0] ?? '']
  const append = (piece = '') => template.push((template.pop() ?? '') + piece)
  fragments.forEach((fragment, at) => {
    append(fragment[0])
    template.push(...fragment.slice(1))
    append(text[at + 1])
  })
  return Object.freeze(template)
}
