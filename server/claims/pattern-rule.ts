// The rules that a pattern must obey, which depend on the claim that it is matched with.
import { issuerPatternFault } from './issuer-pattern.ts'
import { audiencePatternFault, isUnrestricted, patternFault } from './pattern.ts'

export type PatternKind = 'issuer' | 'audience' | 'other'
/** A pattern, and the kind that decides which rules it must obey. */
export type PatternToCheck = { kind: PatternKind; pattern: string }

export type PatternVerdict = {
  /** The error of the pattern; undefined if it is valid. */
  fault: string | undefined
  /** Whether the pattern is valid and matches every value. */
  isUnrestricted: boolean
}

/** Returns the verdict on a pattern. */
export type JudgePattern = (kind: PatternKind, pattern: string) => PatternVerdict

const faultsByKind = { issuer: issuerPatternFault, audience: audiencePatternFault, other: patternFault }

/** Compiles the pattern, which is slow, so the server runs it in a thread (checks-thread.ts). */
export const judgePattern: JudgePattern = (kind, pattern) => {
  const fault = faultsByKind[kind](pattern)
  return { fault, isUnrestricted: fault === undefined && isUnrestricted(pattern) }
}
