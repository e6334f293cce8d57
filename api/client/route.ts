// Where a call goes, and what it takes and gives: all that has to be known to make it, without its descriptor.
import type {
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageJsonType,
} from '@bufbuild/protobuf'

/** Fields have the names that they have in JSON. */
export type Route = {
  readonly verb: string
  /** Such as `/iam/v2beta1/groups/{group.uid=**}`. */
  readonly path: string
  /** The field that the body is, or `*` for the whole request. */
  readonly body?: string
  readonly isListBody?: true
  readonly isStream?: true
  /** The field of the answer that it is a list of. */
  readonly items?: string
  readonly isPaged?: true
}

/** What is carried by the type alone. */
type Typed<Request, Answer> = { readonly types?: (request: Request) => Answer }

export type UnaryRoute<Request, Answer> = Route & { readonly isStream?: never } & Typed<Request, Answer>
export type StreamRoute<Request, Answer> = Route & { readonly isStream: true } & Typed<Request, Answer>

/** One for each call of a service. */
export type Routes<S extends DescService> = {
  readonly [M in keyof S['method']]: S['method'][M] extends DescMethodUnary<infer I, infer O>
    ? UnaryRoute<MessageJsonType<I>, MessageJsonType<O>>
    : S['method'][M] extends DescMethodServerStreaming<infer I, infer O>
      ? StreamRoute<MessageJsonType<I>, MessageJsonType<O>>
      : never
}
