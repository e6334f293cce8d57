// The http rules of a method (google.api.http).
import type { DescMethod } from '@bufbuild/protobuf'
import { http } from './gen/google/api/annotations_pb.ts'
import type { HttpRule } from './gen/google/api/http_pb.ts'
import { optionOf } from './option.ts'

export type HttpBinding = {
  verb: string
  path: string
  /** The request field that is the body, `*` for the whole request, or empty for no body. */
  body: string
}

/** All bindings of a method. Clients use the first. */
export function bindingsOf(method: DescMethod): HttpBinding[] {
  const rule = optionOf(method, http)
  return rule ? [rule, ...rule.additionalBindings].map(bindingOf) : []
}

function bindingOf(rule: HttpRule): HttpBinding {
  const { case: verb, value } = rule.pattern
  if (verb === undefined) return { verb: '', path: '', body: rule.body }
  if (verb === 'custom') return { verb: value.kind, path: value.path, body: rule.body }
  return { verb: verb.toUpperCase(), path: value, body: rule.body }
}
