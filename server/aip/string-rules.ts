// The rules of strings: length, pattern, control characters, uids.
import { create } from '@bufbuild/protobuf'
import type { FieldRules } from '@stemma/api/gen/platform/common/rules_pb.ts'
import { FieldRulesSchema } from '@stemma/api/gen/platform/common/rules_pb.ts'
import { isUid } from './uid.ts'

/** Describes the first rule that a string breaks, such as `must be a uid`; undefined if it breaks none. */
export type StringCheck = (value: string) => string | undefined

export function stringCheck(rules: FieldRules): StringCheck {
  const pattern = rules.pattern === '' ? undefined : new RegExp(`^(?:${rules.pattern})$`, 'u')
  const isUidOnly = rules.uid && !pattern && rules.maxLength === 0
  return (value) => {
    // A uid breaks none of the other rules. A request may contain two thousand of them.
    if (isUidOnly && isUid(value)) return undefined
    if (!value.isWellFormed()) return 'must be well-formed Unicode; it contains a lone surrogate'
    if (value.includes('\0')) return 'must not contain a NUL character'
    if (rules.text && !freeText.test(value))
      return 'must not contain control characters other than tab and line breaks'
    if (rules.singleLine && controlCharacter.test(value))
      return 'must not contain line breaks or control characters'
    if (rules.maxLength > 0 && isLongerThan(value, rules.maxLength))
      return `must be at most ${rules.maxLength} characters long`
    if (pattern && !pattern.test(value)) return ruleText(rules)
    if (rules.uid && !isUid(value))
      return 'must be a uid: 40 hex digits, then segments of 16 hex digits, separated by /'
    return undefined
  }
}

const freeText = /^(?:[^\x00-\x08\x0b-\x1f\x7f-\x9f]|\r\n)*$/

/** C0 and C1 controls, and the line separators of Unicode. */
const controlCharacter = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/

/** The check of a string whose field has no rules. */
export const checkAnyString = stringCheck(create(FieldRulesSchema))

/** The pattern of a string in words. */
export const ruleText = ({ hint, pattern }: FieldRules) => hint || `must match ${JSON.stringify(pattern)}`

/**
 * A character is a code point, which has one or two UTF-16 units. Code points are counted only if the number of units
 * does not decide.
 */
const isLongerThan = (value: string, maxLength: number) =>
  value.length > 2 * maxLength || (value.length > maxLength && [...value].length > maxLength)
