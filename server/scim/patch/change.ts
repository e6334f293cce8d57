// One change of an attribute.
import type { Budget } from '../budget.ts'
import { badRequest, invalidValue } from '../errors.ts'
import type { Filter } from '../filter/parse.ts'
import { maxValues } from '../limits.ts'
import type { Attribute } from '../schema/attribute.ts'
import { findAttribute } from '../schema/attribute.ts'
import { normalizeOne, normalizeValue } from '../schema/normalize.ts'
import type { Resource } from '../schema/schema.ts'
import type { Target } from './target.ts'

export type Change = { op: 'add' | 'remove' | 'replace'; target: Target; value: unknown }

/** Modifies `resource` itself. */
export function applyChange(resource: Resource, change: Change, budget: Budget): void {
  const { op, value, target } = change
  // RFC 7644 section 3.5.2.1.
  if (op === 'add' && value === undefined) throw invalidValue(`${target.path} needs a value`)
  const { extension } = target
  const holder = extension === undefined ? resource : ((resource[extension] ?? {}) as Resource) // extensions are objects
  changeAttribute(holder, change, budget)
  if (extension !== undefined)
    setOrDelete(resource, extension, Object.keys(holder).length > 0 ? holder : undefined)
}

function changeAttribute(holder: Resource, change: Change, budget: Budget): void {
  const { attribute, sub, selection } = change.target
  const current = (holder[attribute.name] ?? []) as Resource[] // used only for complex values
  if (attribute.multiValued && (selection || sub))
    setList(holder, attribute, changeSelected(current, change, budget))
  else if (attribute.multiValued) changeList(holder, change, budget)
  else if (sub) changeSub(holder, change, sub)
  else changeSingle(holder, change)
}

function changeSingle(holder: Resource, { op, target: { attribute, path }, value }: Change): void {
  const { name, type } = attribute
  const normalized = op === 'remove' ? undefined : normalizeValue(attribute, value, path)
  // The sub-attributes that are sent replace those of a complex attribute, and the others are kept.
  if (normalized !== undefined)
    holder[name] =
      type === 'complex' ? { ...(holder[name] as Resource), ...(normalized as Resource) } : normalized
  else delete holder[name]
}

function changeSub(holder: Resource, { op, target, value }: Change, sub: Attribute): void {
  const { attribute, path } = target
  const content = { ...(holder[attribute.name] as Resource | undefined) }
  setOrDelete(content, sub.name, op === 'remove' ? undefined : normalizeValue(sub, value, path))
  setOrDelete(holder, attribute.name, Object.keys(content).length > 0 ? content : undefined)
}

function setOrDelete(holder: Resource, name: string, value: unknown): void {
  if (value === undefined) delete holder[name]
  else holder[name] = value
}

function changeList(
  holder: Resource,
  { op, target: { attribute, path }, value }: Change,
  budget: Budget,
): void {
  const current = (holder[attribute.name] ?? []) as unknown[]
  const sent = (normalizeValue(attribute, value, path) ?? []) as unknown[]
  requireFewValues(attribute, sent)
  if (op === 'add') setList(holder, attribute, withAdded(current, sent, budget))
  else if (op === 'replace') setList(holder, attribute, sent)
  // Entra removes values of a list by sending them, without a filter in the path.
  else setList(holder, attribute, isNull(value) ? [] : withoutNamed(current, sent, budget))
}

const isNull = (value: unknown) => value === undefined || value === null

function withoutNamed(current: unknown[], sent: unknown[], budget: Budget): unknown[] {
  const keys = new Set(sent.filter(hasValue).map(({ value }) => value))
  const others = sent.filter((one) => !hasValue(one))
  return current.filter((value) => {
    budget.spend(others.length)
    return !(hasValue(value) && keys.has(value.value)) && !others.some((one) => isNamedBy(value, one))
  })
}

const hasValue = (value: unknown): value is { value: unknown } =>
  typeof value === 'object' && value !== null && 'value' in value

function withAdded(current: unknown[], sent: unknown[], budget: Budget): unknown[] {
  const known = new Set<string>()
  const isNew = (value: unknown) => {
    const text = textOf(value)
    budget.spend(text.length)
    return known.size < known.add(text).size
  }
  current.forEach(isNew)
  return withOnePrimary(current, sent.filter(isNew))
}

/** Equal for values that are equal. Values are simple, or have simple sub-attributes. */
const textOf = (value: unknown): string =>
  typeof value === 'object' && value !== null
    ? JSON.stringify(Object.entries(value).sort())
    : JSON.stringify(value)

/**
 * Whether a sent value without the sub-attribute `value` means this one: all sub-attributes that
 * were sent are the same.
 */
const isNamedBy = (value: unknown, sent: unknown): boolean => {
  if (typeof sent !== 'object' || sent === null) return value === sent
  const named = value as Resource // values of one list have one type
  return Object.entries(sent).every(([name, content]) => named[name] === content)
}

/** If a new value is primary, the others no longer are (RFC 7644 section 3.5.2). */
function withOnePrimary(current: unknown[], added: unknown[]): unknown[] {
  const hasPrimary = added.some((value) => (value as Resource).primary === true)
  const others = hasPrimary
    ? current.map((value) => ({ ...(value as Resource), ...demoted(value) }))
    : current
  return [...others, ...added]
}

const demoted = (value: unknown) => ((value as Resource).primary === true ? { primary: false } : {})

function setList(holder: Resource, attribute: Attribute, values: unknown[]): void {
  requireFewValues(attribute, values)
  setOrDelete(holder, attribute.name, values.length > 0 ? values : undefined)
}

/** Members have limits of their own. */
function requireFewValues({ name }: Attribute, values: readonly unknown[]): void {
  if (name !== 'members' && values.length > maxValues)
    throw invalidValue(`${name} must have at most ${maxValues} values`)
}

/**
 * The list after a change of the values that the filter of the path selects, or of one sub-attribute of them. Without a
 * filter, all values are selected.
 */
function changeSelected(current: Resource[], change: Change, budget: Budget): Resource[] {
  const { op, target } = change
  const isSelected = current.map((value) => !target.selection || target.selection.test(value, budget))
  if (!isSelected.includes(true)) return withMissing(current, change)
  if (op === 'remove' && !target.sub) return current.filter((_, at) => !isSelected[at])
  const changed = current.map((value, at) => (isSelected[at] ? changedValue(value, change) : value))
  const becamePrimary = changed.find((value, at) => value.primary === true && current[at]?.primary !== true)
  const values = changed.map((value) =>
    becamePrimary && value !== becamePrimary ? { ...value, ...demoted(value) } : value,
  )
  return values.filter((value) => Object.keys(value).length > 0)
}

function changedValue(
  value: Resource,
  { op, target: { attribute, sub, path }, value: sent }: Change,
): Resource {
  if (!sub) {
    const normalized = (normalizeOne(attribute, sent, path) ?? {}) as Resource // complex
    return op === 'replace' ? normalized : { ...value, ...normalized }
  }
  const changed = { ...value }
  setOrDelete(changed, sub.name, op === 'remove' ? undefined : normalizeValue(sub, sent, path))
  return changed
}

/**
 * The list after a change that selects no value. `add` creates the value that the filter describes, and so does
 * `replace` of a sub-attribute: Entra sets `emails[type eq "work"].value` even if there is no value of this type.
 * `remove` without a filter changes nothing. In all other cases there is no target (RFC 7644 section 3.5.2.3).
 */
function withMissing(current: Resource[], change: Change): Resource[] {
  const { op, target } = change
  const { attribute, sub, selection, path } = target
  if (op === 'remove' && !selection) return current
  const isCreated = op === 'add' || (op === 'replace' && sub !== undefined)
  const template = isCreated ? (selection ? templateOf(attribute, selection.filter) : {}) : undefined
  if (!template) throw badRequest('noTarget', `${path} selects no value`)
  // Null is no value (RFC 7643 section 2.5), so nothing is created for it.
  if (isNull(change.value)) return current
  return withOnePrimary(current, [changedValue(template, { ...change, op: 'add' })]) as Resource[]
}

/** The value that a filter such as `type eq "work"` describes. Undefined if it describes none. */
function templateOf(attribute: Attribute, filter: Filter): Resource | undefined {
  if (filter.kind === 'and') {
    const parts = filter.parts.map((part) => templateOf(attribute, part))
    return parts.every((part) => part !== undefined) ? Object.assign({}, ...parts) : undefined
  }
  if (filter.kind !== 'compare' || filter.operator !== 'eq') return undefined
  const sub = findAttribute(attribute.subAttributes, filter.path)
  return sub && { [sub.name]: normalizeOne(sub, filter.value, filter.path) }
}
