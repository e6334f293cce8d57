// Checks values against the field rules of the contract. Every string of a request is also checked for characters
// that a store cannot represent, even if its field has no rules.
import type { DescField, DescMessage, Message } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import type { FieldMask } from '@bufbuild/protobuf/wkt'
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt'
import type { FieldRules } from '@stemma/api/gen/platform/common/rules_pb.ts'
import { isOutputOnly, isRequired, isScope, rulesOf } from '@stemma/api/method.ts'
import type { FieldViolation } from './errors.ts'
import type { StringCheck } from './string-rules.ts'
import { checkAnyString, ruleText, stringCheck } from './string-rules.ts'
import { isInRange, isTime, rangeOf } from './time-range.ts'

const maxViolations = 20

type Report = (violation: FieldViolation) => void
/** `prefix` is the path of the message, with a dot at its end; empty for the request itself. */
type Check = (message: LazyReflection, prefix: string, report: Report) => void

/** A message whose reflection is created only if a check needs it. */
class LazyReflection {
  readonly plain: Message
  readonly desc: DescMessage
  #reflection: ReflectMessage | undefined

  constructor(desc: DescMessage, plain: Message, reflection?: ReflectMessage) {
    this.desc = desc
    this.plain = plain
    this.#reflection = reflection
  }

  get reflection(): ReflectMessage {
    this.#reflection ??= reflect(this.desc, this.plain)
    return this.#reflection
  }
}

/** `skip` is a field that is checked elsewhere, such as the resource of an update, which is checked after the merge. */
export function violationsOf(desc: DescMessage, message: Message, skip?: DescField): FieldViolation[] {
  const violations: FieldViolation[] = []
  const report: Report = (violation) => {
    if (violations.length < maxViolations) violations.push(violation)
  }
  checkFields(new LazyReflection(desc, message), '', report, skip)
  return violations
}

function checkFields(message: LazyReflection, prefix: string, report: Report, skip?: DescField) {
  const { desc } = message
  const checks = checksOf(desc)
  for (let at = 0; at < checks.length; at++) {
    const field = desc.fields[at] as DescField // there is one check per field
    if (field !== skip) checks[at]?.(message, prefix, report)
  }
}

/** The checks of each message type, in the order of its fields. The contract bounds the number of types. */
const checksByType = new Map<DescMessage, Check[]>()

function checksOf(desc: DescMessage): Check[] {
  let checks = checksByType.get(desc)
  if (!checks) {
    checks = desc.fields.map(checkOf)
    checksByType.set(desc, checks)
  }
  return checks
}

function checkOf(field: DescField): Check {
  // Values of callers in output-only fields are ignored, so they cannot be wrong.
  if (isOutputOnly(field)) return () => {}
  const rules = rulesOf(field)
  // A missing scope, such as `uid` or `parent`, is reported by server/policy/admit.ts before any violation.
  const required = isRequired(field) && !isScope(field)
  const checkString = stringCheck(rules)
  const checkPresent = presentFieldCheck(field, rules, checkString)
  const mayBeAbsent = !required && !field.oneof
  const hasDefault = hasImplicitDefault(field)
  const isString = hasDefault && field.scalar === ScalarType.STRING
  return (message, prefix, report) => {
    const value = (message.plain as unknown as Record<string, unknown>)[field.localName]
    // Most fields of most requests are not set, and most others are strings: neither needs reflection.
    if (mayBeAbsent && isAbsent(value, hasDefault)) return
    if (isString && value !== '') {
      const description = checkString(value as string)
      if (description !== undefined) report({ field: prefix + field.name, description })
      return
    }
    const { reflection } = message
    if (reflection.isSet(field)) checkPresent(reflection, prefix + field.name, report)
    else if (required) report({ field: prefix + field.name, description: requirement(rules) })
  }
}

/** The check of a field that is set. */
function presentFieldCheck(field: DescField, rules: FieldRules, checkString: StringCheck) {
  const hasTooMany = (size: number) => rules.maxItems > 0 && size > rules.maxItems
  const tooMany = `must have at most ${rules.maxItems} entries`
  return (message: ReflectMessage, path: string, report: Report) => {
    const reportHere = (description: string) => report({ field: path, description })
    switch (field.fieldKind) {
      case 'scalar': {
        const value = message.get(field)
        if (typeof value === 'string') checkValue(value, path, checkString, report)
        else if (rules.nonNegative && Number(value) < 0) reportHere(rules.hint || 'must not be negative')
        break
      }
      case 'message':
        checkMessage(message.get(field), path, report)
        break
      case 'list': {
        const list = message.get(field)
        if (hasTooMany(list.size)) reportHere(tooMany)
        else if (field.listKind === 'message')
          checkMessages(field.message, plainList(message, field), path, report)
        else checkElements(list, path, checkString, report)
        break
      }
      case 'map': {
        const map = message.get(field)
        if (hasTooMany(map.size)) reportHere(tooMany)
        else for (const [key, value] of map) checkEntry(key, value, path, checkString, report)
        break
      }
    }
  }
}

/** Whether an unset field is the same as an empty string, zero or false. */
const hasImplicitDefault = (field: DescField) =>
  field.fieldKind === 'scalar' && !field.oneof && field.presence === FeatureSet_FieldPresence.IMPLICIT

function isAbsent(value: unknown, hasDefault: boolean): boolean {
  if (hasDefault) return value === '' || value === 0 || value === false
  return value === undefined || (Array.isArray(value) && value.length === 0)
}

function checkElements(list: Iterable<unknown>, path: string, checkString: StringCheck, report: Report) {
  let at = 0
  for (const element of list) checkValue(element, `${path}[${at++}]`, checkString, report)
}

/** The elements without reflection, which would take longer than all checks of an element. */
const plainList = ({ message }: ReflectMessage, { localName }: DescField) =>
  (message as unknown as Record<string, Message[]>)[localName] ?? []

/**
 * A request may have a thousand elements, and few are wrong. To save time, paths are made only for these: each is
 * checked again, with its path.
 */
function checkMessages(desc: DescMessage, messages: readonly Message[], path: string, report: Report) {
  let isWrong = false
  const notice = () => {
    isWrong = true
  }
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at] as Message // the index is below the length
    checkPlainMessage(desc, message, '', notice)
    if (isWrong) checkPlainMessage(desc, message, `${path}[${at}]`, report)
    isWrong = false
  }
}

/** The path of a map entry. The caller chose its key, so the key is shortened and made well-formed. */
export const entryPath = (path: string, key: unknown) =>
  `${path}[${String(key).slice(0, 100).toWellFormed()}]`

function checkEntry(key: unknown, value: unknown, path: string, checkString: StringCheck, report: Report) {
  const field = entryPath(path, key)
  const description = typeof key === 'string' ? checkString(key) : undefined
  if (description !== undefined) report({ field, description: `the key ${description}` })
  checkValue(value, field, checkString, report)
}

function checkValue(value: unknown, path: string, checkString: StringCheck, report: Report) {
  if (typeof value === 'string') {
    const description = checkString(value)
    if (description !== undefined) report({ field: path, description })
  } else if (isReflectMessage(value)) checkMessage(value, path, report)
}

const checkMessage = (value: ReflectMessage, path: string, report: Report) =>
  checkPlainMessage(value.desc, value.message, path, report, value)

function checkPlainMessage(
  desc: DescMessage,
  message: Message,
  path: string,
  report: Report,
  reflection?: ReflectMessage,
) {
  if (isFieldMask(message)) {
    // Callers send a mask as one value, so violations name the mask and not one of its paths.
    for (const maskPath of message.paths) checkValue(maskPath, path, checkAnyString, report)
  } else if (!isTime(message)) checkFields(new LazyReflection(desc, message, reflection), `${path}.`, report)
  else if (!isInRange(message)) report({ field: path, description: rangeOf(message) })
}

const isFieldMask = (message: Message): message is FieldMask =>
  message.$typeName === 'google.protobuf.FieldMask'

const isReflectMessage = (value: unknown): value is ReflectMessage =>
  typeof value === 'object' && value !== null && 'desc' in value && 'message' in value

const requirement = (rules: FieldRules) =>
  rules.pattern === '' ? 'is required' : `is required and ${ruleText(rules)}`
