// Which endpoint a path means. The table is made once from the contract's http rules.
import type { HttpBinding } from '@stemma/api/http-binding.ts'
import { malformed } from '../../aip/errors.ts'
import type { Endpoint } from '../door.ts'
import type { Template } from './template.ts'
import { matchTemplate, parseTemplate } from './template.ts'

export type Route = { endpoint: Endpoint; binding: HttpBinding; template: Template }
export type Match = { route: Route; fields: Map<string, string> }

export type Routes = {
  /** The route of a path for each HTTP method that it takes. */
  find(segments: readonly string[]): Map<string, Match>
  match(verb: string, segments: readonly string[]): Match | undefined
}

export function makeRoutes(endpoints: readonly Endpoint[]): Routes {
  const bucket: Bucket = { routes: [], next: new Map() }
  const routes = endpoints.flatMap((endpoint) =>
    endpoint.method.bindings.map(
      (binding): Route => ({ endpoint, binding, template: parseTemplate(binding.path) }),
    ),
  )
  for (const route of routes.sort(bySpecificity)) {
    let found = bucket
    for (const word of wordsOf(route)) {
      const next: Bucket = found.next.get(word) ?? { routes: [], next: new Map() }
      found.next.set(word, next)
      found = next
    }
    found.routes.push(route)
  }

  function candidates(segments: readonly string[]): readonly Route[] {
    let found: Bucket | undefined = bucket
    for (let at = 0; at < bucketWords && at < segments.length && found; at++) {
      const word = segments[at] as string // at is below the length
      found = found.next.get(at === segments.length - 1 ? withoutVerb(word) : word)
    }
    return found?.routes ?? []
  }

  return {
    match(verb, segments) {
      for (const route of candidates(segments)) {
        if (route.binding.verb !== verb) continue
        const fields = matchTemplate(route.template, segments)
        if (fields) return { route, fields }
      }
      return undefined
    },
    find(segments) {
      const matches = new Map<string, Match>()
      for (const route of candidates(segments)) {
        const fields = matchTemplate(route.template, segments)
        if (fields && !matches.has(route.binding.verb)) matches.set(route.binding.verb, { route, fields })
      }
      return matches
    },
  }
}

/** All paths start with domain, version and collection, or are shorter; a verb may follow. */
const bucketWords = 3

/** Routes that start with the same words. */
type Bucket = { routes: Route[]; next: Map<string, Bucket> }

const withoutVerb = (word: string) => (word.includes(':') ? word.slice(0, word.indexOf(':')) : word)

function wordsOf({ template, binding }: Route): string[] {
  return template.tokens.slice(0, bucketWords).map((token) => {
    if (token.kind !== 'literal') throw new Error(`${binding.path} does not start with fixed words`)
    return token.text
  })
}

/** A verb says more than a path, and a fixed path more than one that takes anything. */
function bySpecificity({ template: a }: Route, { template: b }: Route): number {
  const rank = ({ verb, tokens }: Template) => [
    verb === '' ? 1 : 0,
    tokens.some(({ kind }) => kind === 'many') ? 1 : 0,
    -tokens.filter(({ kind }) => kind === 'literal').length,
  ]
  const [left, right] = [rank(a), rank(b)]
  return left.map((value, at) => value - (right[at] ?? 0)).find((difference) => difference !== 0) ?? 0
}

/** Escapes are resolved before the path is split: `%2F` in a uid is a `/`. */
export function splitPath(path: string): string[] {
  let plain = path
  if (path.includes('%')) {
    try {
      plain = decodeURIComponent(path)
    } catch {
      throw malformed('the path holds a malformed percent escape')
    }
  }
  return plain.slice(1).split('/')
}
