// Names of vulnerabilities, as records of others give them.
import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { rulesOf } from '@stemma/api/method.ts'

const { pattern, maxItems } = rulesOf(AdvisorySchema.field.aliases)
const aliasForm = new RegExp(pattern, 'u')

export const isAlias = (text: string) => aliasForm.test(text)

/** Each once, without what no alias may look like, and no more than an advisory can hold. */
export const aliasesOf = (names: readonly string[]): string[] =>
  [...new Set(names)].filter(isAlias).slice(0, maxItems)
