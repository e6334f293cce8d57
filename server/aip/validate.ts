// Holds values against the rules of the contract. Every string of every request is checked for text that no
// store can keep, whether or not its field has rules of its own.
import type { DescField, DescMessage, Message } from '@bufbuild/protobuf'
import { create, ScalarType } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import type { FieldMask } from '@bufbuild/protobuf/wkt'
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt'
import type { FieldRules } from '@stemma/api/gen/platform/common/rules_pb.ts'
import { FieldRulesSchema } from '@stemma/api/gen/platform/common/rules_pb.ts'
import { isOutputOnly, isRequired, isScope, rulesOf } from '@stemma/api/method.ts'
import type { FieldViolation } from './errors.ts'
import { isInRange, isTime } from './time-range.ts'
import { isUid } from './uid.ts'

const mostViolations = 20

type Report = (violation: FieldViolation) => void
type Check = (message: Sent, path: string, report: Report) => void

/** A message, and the same by its fields, which is made only where it is needed. */
class Sent {
  readonly plain: Message
  readonly desc: DescMessage
  #byFields: ReflectMessage | undefined

  constructor(desc: DescMessage, plain: Message, byFields?: ReflectMessage) {
    this.desc = desc
    this.plain = plain
    this.#byFields = byFields
  }

  get byFields(): ReflectMessage {
    this.#byFields ??= reflect(this.desc, this.plain)
    return this.#byFields
  }
}

const checks = new Map<DescMessage, Check[]>()

/** `skip` leaves out a field that is checked elsewhere, as an update's resource is after the merge. */
export function violationsOf(
  desc: DescMessage,
  message: Message,
  skip?: DescField,
  prefix = '',
): FieldViolation[] {
  const found: FieldViolation[] = []
  const report: Report = (violation) => {
    if (found.length < mostViolations) found.push(violation)
  }
  run(new Sent(desc, message), prefix, report, skip)
  return found
}

function run(message: Sent, prefix: string, report: Report, skip?: DescField) {
  const { desc } = message
  const list = checksOf(desc)
  for (let at = 0; at < list.length; at++) {
    const field = desc.fields[at] as DescField // there is a check for each
    if (field !== skip) list[at]?.(message, prefix === '' ? field.name : prefix + field.name, report)
  }
}

function checksOf(desc: DescMessage): Check[] {
  let list = checks.get(desc)
  if (!list) {
    list = desc.fields.map(checkOf)
    checks.set(desc, list)
  }
  return list
}

function checkOf(field: DescField): Check {
  // What callers send in an output-only field is ignored, so it cannot be wrong either.
  if (isOutputOnly(field)) return () => {}
  const rule = rulesOf(field)
  // A missing scope is found missing before all else.
  const required = isRequired(field) && !isScope(field)
  const test = stringTest(rule)
  const mayBeAbsent = !required && !field.oneof
  const isPlain = isPlainScalar(field)
  const isText = isPlain && field.scalar === ScalarType.STRING
  return (sent, path, report) => {
    const value = (sent.plain as unknown as Record<string, unknown>)[field.localName]
    // Most fields of most requests say nothing, and most others are text.
    if (mayBeAbsent && isAbsent(value, isPlain)) return
    const tell = (description: string) => report({ field: path, description })
    if (isText && value !== '') {
      test(value as string, tell)
      return
    }
    const message = sent.byFields
    if (!message.isSet(field)) {
      if (required) tell(missing(rule))
      return
    }
    switch (field.fieldKind) {
      case 'scalar': {
        const value = message.get(field)
        if (typeof value === 'string') test(value, tell)
        else if (rule.nonNegative && Number(value) < 0) tell('must not be negative')
        break
      }
      case 'message':
        checkMessage(message.get(field), path, report)
        break
      case 'list': {
        const list = message.get(field)
        if (rule.maxItems > 0 && list.size > rule.maxItems) tell(`must hold at most ${rule.maxItems} entries`)
        else checkElements(list, path, test, report)
        break
      }
      case 'map': {
        const map = message.get(field)
        if (rule.maxItems > 0 && map.size > rule.maxItems) tell(`must hold at most ${rule.maxItems} entries`)
        else for (const [key, value] of map) checkEntry(key, value, path, test, report)
        break
      }
    }
  }
}

/** A value that is there unless it is empty or zero. */
const isPlainScalar = (field: DescField) =>
  field.fieldKind === 'scalar' && !field.oneof && field.presence === FeatureSet_FieldPresence.IMPLICIT

function isAbsent(value: unknown, isPlain: boolean): boolean {
  if (isPlain) return value === '' || value === 0 || value === false
  return value === undefined || (Array.isArray(value) && value.length === 0)
}

type StringTest = (value: string, tell: (description: string) => void) => void

function checkElements(list: Iterable<unknown>, path: string, test: StringTest, report: Report) {
  let at = 0
  for (const element of list) checkValue(element, `${path}[${at++}]`, test, report)
}

/** The path of an entry of a map; its key is the caller's, and may be anything. */
export const entryPath = (path: string, key: unknown) =>
  `${path}[${String(key).slice(0, 100).toWellFormed()}]`

function checkEntry(key: unknown, value: unknown, path: string, test: StringTest, report: Report) {
  const where = entryPath(path, key)
  if (typeof key === 'string')
    test(key, (description) => report({ field: where, description: `the key ${description}` }))
  checkValue(value, where, test, report)
}

function checkValue(value: unknown, path: string, test: StringTest, report: Report) {
  if (typeof value === 'string') test(value, (description) => report({ field: path, description }))
  else if (isReflectMessage(value)) checkMessage(value, path, report)
}

function checkMessage(value: ReflectMessage, path: string, report: Report) {
  const { message } = value
  if (isFieldMask(message)) {
    // A mask is one value to whoever sends it, not a list of paths.
    for (const one of message.paths) anyText(one, (description) => report({ field: path, description }))
  } else if (!isTime(message)) run(new Sent(value.desc, message, value), `${path}.`, report)
  else if (!isInRange(message)) report({ field: path, description: 'is out of range' })
}

const isFieldMask = (message: Message): message is FieldMask =>
  message.$typeName === 'google.protobuf.FieldMask'

const isReflectMessage = (value: unknown): value is ReflectMessage =>
  typeof value === 'object' && value !== null && 'desc' in value && 'message' in value

function missing(rule: FieldRules): string {
  return rule.pattern === '' ? 'is required' : `is required and ${complaint(rule)}`
}

const complaint = ({ hint, pattern }: FieldRules) => hint || `must match ${JSON.stringify(pattern)}`

function stringTest(rule: FieldRules): StringTest {
  const pattern = rule.pattern === '' ? undefined : new RegExp(`^(?:${rule.pattern})$`, 'u')
  return (value, tell) => {
    if (!value.isWellFormed()) tell('must be well-formed Unicode; it holds a lone surrogate')
    else if (value.includes('\0')) tell('must not hold a NUL character')
    else if (rule.text && !freeText.test(value)) {
      tell('must not hold control characters other than tab and line breaks')
    } else if (rule.maxLength > 0 && isLongerThan(value, rule.maxLength)) {
      tell(`must be at most ${rule.maxLength} characters long`)
    } else if (pattern && !pattern.test(value)) tell(complaint(rule))
    else if (rule.uid && value !== '' && !isUid(value)) {
      tell('must be a uid: 40 hex digits, then segments of 16 hex digits, separated by /')
    }
  }
}

const freeText = /^(?:[^\x00-\x08\x0b-\x1f\x7f]|\r\n)*$/

const anyText = stringTest(create(FieldRulesSchema))

/** Characters are code points, of which each takes one or two units; they are counted only where it matters. */
const isLongerThan = (value: string, most: number) =>
  value.length > 2 * most || (value.length > most && [...value].length > most)
