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
import { asStatusError, statusOf } from '../../aip/errors.ts'

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

/** As the trailers of an HTTP/2 stream. */
export function statusTrailers(error: StatusError, errorDomain: string): OutgoingHttpHeaders {
  const { message, bytes } = statusBytes(error, errorDomain)
  return {
    'grpc-status': error.code,
    'grpc-message': encodeURI(message),
    'grpc-status-details-bin': bytes.toString('base64'),
  }
}

/** In the form in which handlers pass errors to grpc-js. */
export function serviceError(thrown: unknown, errorDomain: string) {
  const error = asStatusError(thrown)
  const { message, bytes } = statusBytes(error, errorDomain)
  const metadata = new Metadata()
  metadata.set('grpc-status-details-bin', bytes)
  return { code: error.code as number, details: message, metadata }
}

function statusBytes(error: StatusError, errorDomain: string): { message: string; bytes: Buffer } {
  const { code, message, details } = statusOf(error, errorDomain)
  const status = create(StatusSchema, { code: code as number, message, details: details.map(packDetail) })
  return { message, bytes: Buffer.from(toBinary(StatusSchema, status)) }
}

function packDetail({ type, fields }: Detail) {
  const schema = detailSchemas[type]
  if (!schema) throw new Error(`${type} is not a detail type that errors use`)
  return anyPack(schema, fromJson(schema, fields as JsonObject))
}
