// Aliases of vulnerabilities in imported records.
import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { rulesOf } from '@stemma/api/method.ts'

const { pattern, maxItems } = rulesOf(AdvisorySchema.field.aliases)
const aliasPattern = new RegExp(pattern, 'u')

export const isAlias = (text: string) => aliasPattern.test(text)

/** Removes duplicates and names that are not valid aliases, and keeps at most as many as an advisory can have. */
export const aliasesOf = (names: readonly string[]): string[] =>
  [...new Set(names)].filter(isAlias).slice(0, maxItems)
