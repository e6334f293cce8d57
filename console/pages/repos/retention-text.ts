// Retention rules as sentences, and as the values of their form.
import type { RetentionJson, RetentionRuleJson } from '@stemma/api/json/platform/registry/v2beta1/repo'

const daySeconds = 86_400

/**
 * Converts `1209600s` to `14`. Empty if there is no duration. Not rounded, so that saving the form
 * unchanged keeps the duration.
 */
export const daysOf = (duration: string | undefined) =>
  duration ? String(Number.parseFloat(duration) / daySeconds) : ''

/** An hour, the shortest duration that the server accepts. */
export const minDays = daysOf('3600s')

export const durationOf = (days: string) =>
  Number(days) > 0 ? `${Math.round(Number(days) * daySeconds)}s` : undefined

/**
 * One sentence for each rule, and one for the deletion of images without a tag. A rule without
 * conditions keeps all tags that match.
 */
export function retentionTexts({ rules = [], deleteUntaggedAfter }: RetentionJson): string[] {
  return [
    ...rules.map(ruleText),
    ...(deleteUntaggedAfter
      ? [`Images without a tag are deleted after ${daysText(deleteUntaggedAfter)}.`]
      : []),
  ]
}

function ruleText({ tags = [], keepMostRecent = 0, keepPushedWithin }: RetentionRuleJson): string {
  const which = tags.length > 0 ? `tags like ${tags.join(', ')}` : 'tags'
  const conditions = [
    keepMostRecent > 0 && `the last ${keepMostRecent}`,
    keepPushedWithin && `those pushed within ${daysText(keepPushedWithin)}`,
  ].filter(Boolean)
  return conditions.length > 0
    ? `Of all ${which}, ${conditions.join(' and ')} are kept.`
    : `All ${which} are kept.`
}

const daysText = (duration: string) => {
  const days = Number(Number(daysOf(duration)).toFixed(2))
  return days === 1 ? '1 day' : `${days} days`
}
