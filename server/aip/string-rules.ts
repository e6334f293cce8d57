// The rules of strings: length, pattern, control characters, uids.
import { create } from '@bufbuild/protobuf'
import type { FieldRules } from '@stemma/api/gen/platform/common/rules_pb.ts'
import { FieldRulesSchema } from '@stemma/api/gen/platform/common/rules_pb.ts'
import { isUid } from './uid.ts'

/** Calls `report` for the first rule that a string breaks, with a description such as `must be a uid`. */
export type StringCheck = (value: string, report: (description: string) => void) => void

export function stringCheck(rules: FieldRules): StringCheck {
  const pattern = rules.pattern === '' ? undefined : new RegExp(`^(?:${rules.pattern})$`, 'u')
  const isUidOnly = rules.uid && !pattern && rules.maxLength === 0
  return (value, report) => {
    // A uid breaks none of the other rules. A request may contain two thousand of them.
    if (isUidOnly && isUid(value)) return
    if (!value.isWellFormed()) report('must be well-formed Unicode; it contains a lone surrogate')
    else if (value.includes('\0')) report('must not contain a NUL character')
    else if (rules.text && !freeText.test(value)) {
      report('must not contain control characters other than tab and line breaks')
    } else if (rules.singleLine && controlCharacter.test(value)) {
      report('must not contain line breaks or control characters')
    } else if (rules.maxLength > 0 && isLongerThan(value, rules.maxLength)) {
      report(`must be at most ${rules.maxLength} characters long`)
    } else if (pattern && !pattern.test(value)) report(ruleText(rules))
    else if (rules.uid && !isUid(value)) {
      report('must be a uid: 40 hex digits, then segments of 16 hex digits, separated by /')
    }
  }
}

const freeText = /^(?:[^\x00-\x08\x0b-\x1f\x7f]|\r\n)*$/

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
