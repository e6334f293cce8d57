import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { rulesOf } from '@stemma/api/method.ts'

const { pattern, maxItems } = rulesOf(AdvisorySchema.field.aliases)
const aliasPattern = new RegExp(pattern, 'u')

export const isAlias = (text: string) => aliasPattern.test(text)

/** The names that an advisory can have as aliases: valid ones, without duplicates, up to the limit. */
export const aliasesOf = (names: readonly string[]): string[] =>
  [...new Set(names)].filter(isAlias).slice(0, maxItems)
