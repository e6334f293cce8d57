import type { DescMessage, Message, MessageShape } from '@bufbuild/protobuf'
import { toBinary } from '@bufbuild/protobuf'
import { writeJson } from './json-writer.ts'
import type { Warning } from './warning.ts'

/** JSON with its length in bytes, which is expensive to count for a long text. */
export type Json = { text: string; size: number }

export const asJson = (text: string): Json => ({ text, size: Buffer.byteLength(text) })

/**
 * The parts of a JSON response, made one after another. Not a generator, whose variables would keep a part in memory until
 * the next one is made.
 */
export type JsonParts = {
  /**
   * Resolves when the next part may be made. The value of a promise that was pending for long stays
   * in memory until a full garbage collection, so calls wait here, and not in `next`.
   */
  wait(): Promise<void>
  /** Makes the next part, which may be empty; undefined after the last one. */
  next(): Promise<string | undefined>
  /** Ends the response early. With `error`, the call is reported as failed. */
  end(error?: Error): void
}

/** A response that each door asks for in its own form: REST for JSON, gRPC for protobuf bytes. */
export type Reply = {
  json(): Json
  bytes(): Uint8Array
  /** The entity tag, if the response is a resource. */
  etag?: string
  /** Whether this is the stored response of an earlier call with the same idempotency key. */
  isReplayed?: boolean
  /** Values that are stored, but are probably mistakes. */
  warnings?: readonly Warning[] | undefined
  /** Further header fields of the response; metadata over gRPC. */
  headers?: Readonly<Record<string, string>> | undefined
  /**
   * The JSON in parts, in place of `json`: for a response that may be too large for memory. The door reads all parts, or
   * reads at least the first one and then calls `end`.
   */
  parts?(): JsonParts
  /**
   * The message itself, for a door that writes parts of it. `size` is the maximum number of bytes of
   * its encoding.
   */
  unencoded?: { message: Message; size: number }
  /** Called when the response was sent, or can no longer be sent. */
  onSent?(): void
}

export const withWarnings = (reply: Reply, warnings: readonly Warning[]): Reply =>
  warnings.length === 0 ? reply : { ...reply, warnings }

/** A response built for the call, as opposed to one read from a row. */
export const messageReply = <D extends DescMessage>(desc: D, message: MessageShape<D>): Reply => ({
  json: () => asJson(writeJson(desc, message)),
  bytes: () => toBinary(desc, message),
})

/**
 * The response of methods that return google.protobuf.Empty: over REST an empty body, over gRPC an empty message
 * (docs/specification.md, Resources).
 */
export const emptyReply: Reply = { json: () => asJson(''), bytes: () => new Uint8Array() }

/** A response that the registry reads without decoding it. Encoding and decoding take 10 µs for a manifest. */
export const unencodedReply = <D extends DescMessage>(
  desc: D,
  message: MessageShape<D>,
  size: number,
): Reply => ({ ...messageReply(desc, message), unencoded: { message, size } })
