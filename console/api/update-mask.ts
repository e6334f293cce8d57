// Field masks of updates.

/** A field of a resource, or a path into it, such as `oidc.issuer`. */
export type FieldPath<T> = (keyof T & string) | `${keyof T & string}.${string}`

/**
 * The mask of an update: those of `fields` whose values in a form differ from the loaded resource. The others may have
 * been changed by somebody else in the meantime, and are kept. If all are the same, the mask is `uid`, which no update
 * changes, because an empty mask stands for all fields that are set.
 */
export const updateMask = <T extends object>(loaded: T, edited: T, fields: readonly FieldPath<T>[]): string =>
  fields.filter((path) => !isSame(valueAt(loaded, path), valueAt(edited, path))).join(',') || 'uid'

const valueAt = (resource: unknown, path: string): unknown =>
  path.split('.').reduce((value, name) => (isObject(value) ? value[name] : undefined), resource)

function isSame(a: unknown, b: unknown): boolean {
  if (isEmpty(a) && isEmpty(b)) return true
  if (!isObject(a) || !isObject(b)) return a === b
  return [...Object.keys(a), ...Object.keys(b)].every((key) => isSame(a[key], b[key]))
}

/** JSON does not distinguish unset fields from those with a default value. */
const isEmpty = (value: unknown) => !value || (isObject(value) && Object.keys(value).length === 0)

/** True for lists too. */
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
