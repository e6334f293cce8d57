// The kinds and methods that events refer to, read from the descriptors of the contract.
import type { DescMessage, DescService } from '@bufbuild/protobuf'
import { getOption, hasOption } from '@bufbuild/protobuf'
import { event_type } from '@stemma/api/gen/platform/common/resource_pb.ts'
import type { Method } from '@stemma/api/method.ts'
import { describeMethods, fixedPathOf } from '@stemma/api/method.ts'
import { resourceOptions } from '@stemma/api/resource.ts'

/** A form in which the body of an event can show a resource: the message of v1 or v2, and its delete request. */
export type Form = { desc: DescMessage; deletion: DescMessage | undefined }

export type EventKind = {
  /** The start of its event types, such as `api.iam.group`. */
  eventType: string
  v2: Form
  /** Undefined if v1 does not have the resource. */
  v1: (Form & V1Conversion) | undefined
}

/** How the message of v2 is converted to that of v1. */
export type V1Conversion = { desc: DescMessage; convert(resource: never): object }

export type EventMethod = {
  /** The type of its event, if that is not the creation, change or deletion of a resource. */
  eventType: string | undefined
  /** The path of its URL, up to the first variable. */
  path: string
  /** Whether the caller used v1, and so expects the messages of v1. */
  isV1: boolean
}

export type EventCatalog = {
  /** By the name of their table. */
  kinds: ReadonlyMap<string, EventKind>
  /** By their full name. */
  methods: ReadonlyMap<string, EventMethod>
  /**
   * The responses of the methods that have an event type, by this type. If v1 and v2 both have the
   * method, the response of v2.
   */
  outputs: ReadonlyMap<string, DescMessage>
}

export function openEventCatalog(
  services: readonly DescService[],
  /** The message of each kind, by the name of its table. */
  kinds: ReadonlyMap<string, DescMessage>,
  /** By the full name of the message of v2. */
  conversions: ReadonlyMap<string, V1Conversion>,
): EventCatalog {
  const methods = services.flatMap(describeMethods)
  const inputs = new Map(methods.map(({ desc }) => [desc.input.typeName, desc.input]))
  const formOf = (desc: DescMessage): Form => ({ desc, deletion: inputs.get(deletionOf(desc)) })
  return {
    kinds: new Map(
      [...kinds].map(([table, desc]): [string, EventKind] => {
        const conversion = conversions.get(desc.typeName)
        const v1 = conversion && { ...conversion, ...formOf(conversion.desc) }
        return [table, { eventType: resourceOptions(desc).eventType, v2: formOf(desc), v1 }]
      }),
    ),
    methods: new Map(methods.map((method) => [method.name, eventMethodOf(method)])),
    outputs: outputsOf(methods),
  }
}

/** The response of v2 replaces that of v1. */
function outputsOf(methods: readonly Method[]): Map<string, DescMessage> {
  const [v1, v2] = [methods.filter(isV1), methods.filter((method) => !isV1(method))]
  const outputs = new Map<string, DescMessage>()
  for (const { desc } of [...v1, ...v2]) {
    const type = eventTypeOf(desc)
    if (type !== undefined) outputs.set(type, desc.output)
  }
  return outputs
}

const isV1 = ({ desc }: Method) => !desc.parent.typeName.includes('.v2beta1.')

/** `platform.iam.v2beta1.DeleteGroupRequest` for `platform.iam.v2beta1.Group`. */
const deletionOf = ({ file, name }: DescMessage) => `${file.proto.package}.Delete${name}Request`

function eventMethodOf(method: Method): EventMethod {
  return {
    eventType: eventTypeOf(method.desc),
    path: fixedPathOf(method),
    isV1: isV1(method),
  }
}

/** The event type of a method, if its event is not the creation, change or deletion of a resource. */
export const eventTypeOf = (desc: Method['desc']): string | undefined =>
  hasOption(desc, event_type) ? getOption(desc, event_type) : undefined
