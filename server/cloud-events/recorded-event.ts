// The parts of a row of the event log that a CloudEvent is made from.

export type RecordedEvent = {
  id: string
  /** The uid of the group in which it happened. */
  group: string
  /** The table of the resource. */
  kind: string
  /** The uid of the resource. */
  uid: string
  /** `created`, `updated`, `deleted`, or another word such as `pulled`. */
  action: string
  /** The full name of the called method, or the command of the operator. */
  method: string
  /** The uid of the identity that acted; empty for the operator and the server itself. */
  actor: string
  /** A `RecordedOrigin` as JSON. */
  origin: string
  /** Milliseconds since 1970. */
  time: number
  /** The status code; 0 for success. */
  code: number
  /** Facts that are not fields of the resource, as a JSON object. */
  details: string | null
  /** The resource after the change, as protobuf bytes. */
  after: Uint8Array | null
  /** The number of the event in its organization; absent until the row is sealed. */
  sequence?: number
}

export type RecordedOrigin = {
  address?: string
  userAgent?: string
  /** The claims of the token that the actor exchanged for its access token. */
  act?: Readonly<Record<string, string>>
}
