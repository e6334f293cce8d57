// Decides which tags the retention rules of a repo keep.
import { durationMs } from '@bufbuild/protobuf/wkt'
import type { RetentionRule } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { patternFor } from '../tag-pattern.ts'

export type PushedTag = {
  name: string
  /** When the tag was last pushed, in milliseconds since 1970. */
  pushTime: number
  /** Whether the tag is named after a manifest that the repo has, such as `sha256-….sig`. */
  isNamedAfterManifest: boolean
}

export type Verdict = { isKept: boolean; reason: string }

export type Rules = { rules: readonly RetentionRule[]; immutableTags: readonly string[] }

/** Returns a function that judges the tags of a repo. It must be called for all of them, the last pushed one first. */
export function openTagRules({ rules, immutableTags }: Rules, now: number): (tag: PushedTag) => Verdict {
  const judges = rules.map((rule, at) => openRule(rule, at + 1, now))
  return ({ name, pushTime, isNamedAfterManifest }) => {
    if (isNamedAfterManifest) return kept('named after a manifest of the repo')
    // Every rule sees all remaining tags, also immutable ones: `keepMostRecent` counts them.
    const reasons = judges.map((judge) => judge(name, pushTime)).filter((reason) => reason !== undefined)
    const pattern = patternFor(name, immutableTags)
    if (pattern !== undefined) return kept(`immutable by ${pattern}`)
    if (judges.length === 0) return kept('no rules for tags')
    return reasons[0] === undefined ? { isKept: false, reason: 'no rule keeps it' } : kept(reasons[0])
  }
}

const kept = (reason: string): Verdict => ({ isKept: true, reason })

/** Returns a function that says why the rule keeps a tag. It returns undefined if the rule does not keep it. */
function openRule({ tags, keepMostRecent, keepPushedWithin }: RetentionRule, number: number, now: number) {
  const withinMs = keepPushedWithin ? durationMs(keepPushedWithin) : 0
  let count = 0
  return (name: string, pushTime: number): string | undefined => {
    const pattern = tags.length === 0 ? '*' : patternFor(name, tags)
    if (pattern === undefined) return undefined
    count++
    if (keepMostRecent === 0 && withinMs === 0) return `rule ${number}: matches ${pattern}`
    if (count <= keepMostRecent) return `rule ${number}: number ${count} of the ${keepMostRecent} most recent`
    if (withinMs > 0 && pushTime > now - withinMs)
      return `rule ${number}: pushed in the last ${withinMs / 1000} seconds`
    return undefined
  }
}
