// Matches a claim of a token with a pattern. URLs are matched part by part. The server runs the
// expressions with RE2, and the console with the regular expressions of the browser.
import type { UrlParts } from './url-pattern.ts'
import { partsOf, splitUrlPattern } from './url-pattern.ts'

/** Whether an expression matches a whole text. */
export type RunExpression = (expression: string, text: string) => boolean

/** Matching time grows with the pattern and the text, so both are bounded. */
const maxTextLength = 1024

/** Whether the whole text matches a pattern. */
export function matchPattern(run: RunExpression, pattern: string, text: string): boolean {
  const alternatives = splitUrlPattern(pattern)
  if (!alternatives) return matchWhole(run, pattern, text)
  const url = partsOf(text)
  return alternatives.some((alternative) => {
    if (alternative === 'unclear') return false
    if ('text' in alternative) return matchWhole(run, alternative.text, text)
    return url !== undefined && matchParts(run, alternative.parts, url)
  })
}

/** Whether an issuer is a URL in normal form that matches a pattern of URLs. */
export function matchIssuerPattern(run: RunExpression, pattern: string, issuer: string): boolean {
  const url = isNormal(issuer) ? partsOf(issuer) : undefined
  const alternatives = splitUrlPattern(pattern) ?? []
  return (
    url !== undefined &&
    alternatives.some(
      (alternative) =>
        alternative !== 'unclear' && 'parts' in alternative && matchParts(run, alternative.parts, url),
    )
  )
}

/**
 * Whether an issuer is a URL in normal form. Requests go to the normal form of a URL: `https://a.test\.b.test` would be
 * fetched from the host `a.test`, and `https://a.test/x/../y` from the path `/y`.
 */
function isNormal(issuer: string): boolean {
  if (!URL.canParse(issuer) || /[?#]/.test(issuer)) return false
  const { href } = new URL(issuer)
  return href === issuer || href === `${issuer}/`
}

/** Whether each part of a URL matches its own pattern, so that no pattern reaches into the next part. */
const matchParts = (run: RunExpression, parts: UrlParts, url: UrlParts): boolean =>
  urlPartNames.every((name) => matchWhole(run, parts[name], url[name]))

const urlPartNames = ['scheme', 'host', 'port', 'path'] as const

function matchWhole(run: RunExpression, pattern: string, text: string): boolean {
  if (text.length > maxTextLength) return false
  return pattern === '' ? text === '' : run(pattern, text)
}
