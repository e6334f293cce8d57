// The rules that a pattern must obey, which depend on the claim that it is matched with.
import { issuerPatternFault } from './issuer-pattern.ts'
import { audiencePatternFault, patternFault } from './pattern.ts'

export type PatternKind = 'issuer' | 'audience' | 'other'
export type PatternRule = { kind: PatternKind; pattern: string }

/** Describes what is wrong with a pattern. It compiles the pattern, so it must not run on the event loop. */
export type PatternFaultOf = (kind: PatternKind, pattern: string) => string | undefined

const faultsByKind = { issuer: issuerPatternFault, audience: audiencePatternFault, other: patternFault }

export const patternRuleFault: PatternFaultOf = (kind, pattern) => faultsByKind[kind](pattern)
