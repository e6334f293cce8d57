// Reads values of JSON that may have any form.
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

const maxTextLength = 1024

/** Empty if the value is not a string or is too long to be genuine. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' && value.length <= maxTextLength ? value.toWellFormed() : ''
