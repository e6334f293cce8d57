// Computes the demand of a request: the capabilities that the contract requires, and the error if the request breaks
// the rules of the contract. Whether the caller has the capabilities is decided later, in the handler's transaction.
import type { DescField, Message } from '@bufbuild/protobuf'
import { reflect } from '@bufbuild/protobuf/reflect'
import type { Method } from '@stemma/api/method.ts'
import { scopeOf } from '@stemma/api/method.ts'
import type { StatusError } from '../aip/errors.ts'
import { invalidArgument } from '../aip/errors.ts'
import { violationsOf } from '../aip/validate.ts'
import type { Demand } from '../policy/admit.ts'
import type { Caller } from '../wire/caller.ts'
import type { Envelope } from '../wire/envelope.ts'

/** Parts of every demand that do not depend on the request. */
export type DemandOptions = Pick<Demand, 'parseGrants' | 'now' | 'random' | 'defaultLimits'>

export function demandOf(
  method: Method,
  request: Message,
  caller: Caller,
  envelope: Envelope,
  { parseGrants, now, random, defaultLimits }: DemandOptions,
): Demand {
  const { access } = method
  const scopeField = method.scope.at(-1)
  return {
    caller,
    capabilities: access?.capabilities ?? [],
    scope: scopeOf(method, request),
    scopeField: scopeField?.name ?? '',
    isScopeOptional: access?.scopeOptional || access?.operators || false,
    isForOperators: access?.operators ?? false,
    fault: faultOf(method, request),
    resourceType: method.scopeKind,
    parseGrants,
    now,
    random,
    defaultLimits,
    origin: envelope.madeBy ?? { method: method.name, envelope },
  }
}

/**
 * The error that lists all violations of the request. Fields of the resource in the request have paths relative to the
 * resource: `name`, not `group.name`. The resource of an update is checked later, after it is merged with the stored
 * one.
 */
function faultOf({ desc, resource }: Method, request: Message): StatusError | undefined {
  const violations = violationsOf(desc.input, request, resource)
  if (resource?.fieldKind === 'message') {
    const fields = reflect(desc.input, request)
    if (!fields.isSet(resource)) violations.push({ field: resource.name, description: 'is required' })
    else if (!desc.input.fields.some(isUpdateMask)) {
      violations.push(...violationsOf(resource.message, fields.get(resource).message))
    }
  }
  const [first, ...others] = violations
  return first && invalidArgument(first, ...others)
}

const isUpdateMask = (field: DescField) => field.name === 'update_mask'
