// Finds the endpoint of a path. The table of routes is made once, from the http rules of the contract.
import type { HttpBinding } from '@stemma/api/http-binding.ts'
import { isOutputOnly, isRequired } from '@stemma/api/method.ts'
import type { StatusError } from '../../aip/errors.ts'
import { allowHeader, constant, malformed, methodNotAllowed } from '../../aip/errors.ts'
import { resolvePath } from '../../aip/field-path.ts'
import type { Endpoint } from '../door.ts'
import type { Template } from './template.ts'
import { matchTemplate, parseTemplate } from './template.ts'

export type Route = {
  endpoint: Endpoint
  binding: HttpBinding
  template: Template
  /** Whether `**` may match no segment, as in the path of a call that creates an organization. */
  mayBeEmpty: boolean
  /** The path without the names of its variables, such as `/iam/v2beta1/groups/**` for Get, Update and Delete. */
  pattern: string
}

export type Match = {
  route: Route
  fields: Map<string, string>
  /** How the caller spelt the field names, for errors. Set when the request is read. */
  spelling?: CallerSpelling
}

/**
 * `query` is the query string as it was sent. `bodyNames` is the spelling of the keys in the JSON
 * body; undefined if the call has no body.
 */
export type CallerSpelling = { query: string; bodyNames: 'json' | 'proto' | undefined }

export type Routes = {
  /** The matches of a path by HTTP method, one for each method that the path accepts. */
  find(segments: readonly string[]): Map<string, Match>
  /** The match of a path for one HTTP method, `verb`. */
  match(verb: string, segments: readonly string[]): Match | undefined
  /** The error for an HTTP method that is not among `verbs`. */
  notAllowed(verbs: Iterable<string>): StatusError
}

export function makeRoutes(endpoints: readonly Endpoint[]): Routes {
  const root = makeTrie(endpoints)
  /** The errors by Allow header. The contract has only a few different ones. */
  const notAllowed = new Map<string, StatusError>()
  return {
    match(verb, segments) {
      let pattern: string | undefined
      for (const route of candidates(root, segments)) {
        const fields = matchRoute(route, segments)
        if (!fields) continue
        pattern ??= patternAt(route, segments)
        if (pattern !== patternAt(route, segments)) return undefined
        if (route.binding.verb === verb) return { route, fields }
      }
      return undefined
    },
    find(segments) {
      const matches = new Map<string, Match>()
      let pattern: string | undefined
      for (const route of candidates(root, segments)) {
        const fields = matchRoute(route, segments)
        if (!fields) continue
        pattern ??= patternAt(route, segments)
        if (pattern !== patternAt(route, segments)) break
        if (!matches.has(route.binding.verb)) matches.set(route.binding.verb, { route, fields })
      }
      return matches
    },
    notAllowed(verbs) {
      const allow = allowHeaderOf(verbs)
      const error = notAllowed.get(allow) ?? constant(methodNotAllowed(allow))
      notAllowed.set(allow, error)
      return error
    },
  }
}

/** The value of the `Allow` header of a path that has `verbs`. */
export const allowHeaderOf = (verbs: Iterable<string>) => allowHeader([...verbs, 'OPTIONS'])

/** A collection does not have the methods of its resources: DELETE without a uid is not allowed. */
function matchRoute({ template, mayBeEmpty }: Route, segments: readonly string[]) {
  return isEmptyAt(template, segments) && !mayBeEmpty ? undefined : matchTemplate(template, segments)
}

/** Whether `**` matches no segment. */
const isEmptyAt = ({ manyIndex, tokens }: Template, segments: readonly string[]) =>
  manyIndex >= 0 && segments.length < tokens.length

/**
 * The pattern of a route for this path. The first route that matches is the most specific. Routes
 * with another pattern are ignored: otherwise `groups/x:approve` would also be a group with the uid
 * `x:approve`, and GET and DELETE would be allowed.
 */
const patternAt = ({ template, pattern }: Route, segments: readonly string[]) =>
  isEmptyAt(template, segments) ? pattern.replace('/**', '') : pattern

/** Paths start with domain, version and collection, or are shorter; a custom verb such as `:osv` may follow. */
const prefixLength = 3

/** A node of the trie of path prefixes, with the routes that have this prefix. */
type Node = { routes: Route[]; next: Map<string, Node> }

const emptyNode = (): Node => ({ routes: [], next: new Map() })

function makeTrie(endpoints: readonly Endpoint[]): Node {
  const routes = endpoints.flatMap((endpoint) =>
    endpoint.method.bindings.map((binding): Route => {
      const template = parseTemplate(binding.path)
      const pattern = binding.path.replaceAll(/\{[^=}]+(?:=([^}]*))?\}/g, (_, segments = '*') => segments)
      return { endpoint, binding, template, pattern, mayBeEmpty: mayBeEmpty(endpoint, template) }
    }),
  )
  const root = emptyNode()
  for (const route of routes.sort(bySpecificity)) {
    let node = root
    for (const segment of prefixOf(route)) {
      const next = node.next.get(segment) ?? emptyNode()
      node.next.set(segment, next)
      node = next
    }
    node.routes.push(route)
  }
  return root
}

/** A custom method matches a path without a uid too, so that its error names the missing field. */
function mayBeEmpty({ method }: Endpoint, { customVerb, variables }: Template): boolean {
  if (customVerb !== '') return true
  return variables.every(({ field }) => {
    const leaf = resolvePath(method.desc.input, field)?.at(-1)
    return leaf !== undefined && !isRequired(leaf) && !isOutputOnly(leaf)
  })
}

function candidates(root: Node, segments: readonly string[]): readonly Route[] {
  let node: Node | undefined = root
  for (let at = 0; at < prefixLength && at < segments.length && node; at++) {
    const segment = segments[at] as string // at is below the length
    node = node.next.get(at === segments.length - 1 ? withoutCustomVerb(segment) : segment)
  }
  return node?.routes ?? []
}

const withoutCustomVerb = (segment: string) =>
  segment.includes(':') ? segment.slice(0, segment.indexOf(':')) : segment

function prefixOf({ template, binding }: Route): string[] {
  return template.tokens.slice(0, prefixLength).map((token) => {
    if (token.kind !== 'literal')
      throw new Error(`${binding.path} has a variable in its first three segments`)
    return token.text
  })
}

/** Paths with a custom verb come first, then those without `**`, then those with more literals. */
function bySpecificity({ template: a }: Route, { template: b }: Route): number {
  const rank = ({ customVerb, tokens }: Template) => [
    customVerb === '' ? 1 : 0,
    tokens.some(({ kind }) => kind === 'many') ? 1 : 0,
    -tokens.filter(({ kind }) => kind === 'literal').length,
  ]
  const [left, right] = [rank(a), rank(b)]
  return left.map((value, at) => value - (right[at] ?? 0)).find((difference) => difference !== 0) ?? 0
}

/** Escapes are decoded before the path is split: `%2F` in a uid is a `/`. */
export function splitPath(path: string): string[] {
  let decoded = path
  if (path.includes('%')) {
    try {
      decoded = decodeURIComponent(path)
    } catch {
      throw malformed('the path contains a malformed percent escape')
    }
  }
  return decoded.slice(1).split('/')
}
