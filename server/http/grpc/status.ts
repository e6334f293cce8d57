// Errors as gRPC sends them: the code, the message, and a google.rpc.Status with the same content as the JSON of REST.
import type { OutgoingHttpHeaders } from 'node:http2'
import type { DescMessage, JsonObject } from '@bufbuild/protobuf'
import { create, fromJson, toBinary } from '@bufbuild/protobuf'
import { anyPack } from '@bufbuild/protobuf/wkt'
import { Metadata } from '@grpc/grpc-js'
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  QuotaFailureSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from '@stemma/api/gen/google/rpc/error_details_pb.ts'
import { StatusSchema } from '@stemma/api/gen/google/rpc/status_pb.ts'
import type { Detail, StatusError } from '../../aip/errors.ts'
import { asStatusError, replayedHeader, retryHeaders, statusOf } from '../../aip/errors.ts'

const detailSchemas: Record<string, DescMessage> = Object.fromEntries(
  [
    BadRequestSchema,
    ErrorInfoSchema,
    PreconditionFailureSchema,
    QuotaFailureSchema,
    ResourceInfoSchema,
    RetryInfoSchema,
  ].map((schema) => [schema.name, schema]),
)

/** Renders the errors of the gRPC door. Constant errors (server/aip/errors.ts) are rendered only once. */
export type StatusWriter = {
  /** As the trailers of an HTTP/2 stream. */
  trailers(error: StatusError): OutgoingHttpHeaders
  /** In the form in which handlers pass errors to grpc-js. */
  serviceError(thrown: unknown): { code: number; details: string; metadata: Metadata }
}

type Rendered = { message: string; bytes: Buffer }

export function openStatusWriter(errorDomain: string): StatusWriter {
  const renderedConstants = new WeakMap<StatusError, Rendered>()

  function render(error: StatusError): Rendered {
    const { code, message, details } = statusOf(error, errorDomain)
    const status = create(StatusSchema, { code: code as number, message, details: details.map(packDetail) })
    const rendered = { message, bytes: Buffer.from(toBinary(StatusSchema, status)) }
    if (error.isConstant) renderedConstants.set(error, rendered)
    return rendered
  }

  const renderedOf = (error: StatusError) =>
    (error.isConstant ? renderedConstants.get(error) : undefined) ?? render(error)

  return {
    trailers(error) {
      const { message, bytes } = renderedOf(error)
      const replayed = error.headers[replayedHeader]
      return {
        ...retryHeaders(error),
        ...(replayed !== undefined && { [replayedHeader]: replayed }),
        'grpc-status': error.code,
        'grpc-message': encodeURI(message),
        'grpc-status-details-bin': bytes.toString('base64'),
      }
    },
    serviceError(thrown) {
      const error = asStatusError(thrown)
      const { message, bytes } = renderedOf(error)
      const metadata = new Metadata()
      metadata.set('grpc-status-details-bin', bytes)
      const replayed = error.headers[replayedHeader]
      if (replayed !== undefined) metadata.set(replayedHeader, replayed)
      for (const [name, value] of Object.entries(retryHeaders(error))) metadata.set(name, value)
      return { code: error.code as number, details: message, metadata }
    },
  }
}

function packDetail({ type, fields }: Detail) {
  const schema = detailSchemas[type]
  if (!schema) throw new Error(`there is no schema for error details of type ${type}`)
  return anyPack(schema, fromJson(schema, fields as JsonObject))
}
