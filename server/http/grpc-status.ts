// The google.rpc.Status that goes into grpc-status-details-bin: the same as REST sends as JSON.
import type { DescMessage, JsonObject } from '@bufbuild/protobuf'
import { create, fromJson, toBinary } from '@bufbuild/protobuf'
import { anyPack } from '@bufbuild/protobuf/wkt'
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  QuotaFailureSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from '@stemma/api/gen/google/rpc/error_details_pb.ts'
import { StatusSchema } from '@stemma/api/gen/google/rpc/status_pb.ts'
import type { Detail, StatusError } from '../aip/errors.ts'
import { statusOf } from '../aip/errors.ts'

const schemas: Record<string, DescMessage> = Object.fromEntries(
  [
    BadRequestSchema,
    ErrorInfoSchema,
    PreconditionFailureSchema,
    QuotaFailureSchema,
    ResourceInfoSchema,
    RetryInfoSchema,
  ].map((schema) => [schema.name, schema]),
)

export function statusBytes(error: StatusError, domain: string): { message: string; bytes: Uint8Array } {
  const { code, message, details } = statusOf(error, domain)
  const status = create(StatusSchema, { code: code as number, message, details: details.map(pack) })
  return { message, bytes: toBinary(StatusSchema, status) }
}

function pack({ type, fields }: Detail) {
  const schema = schemas[type]
  if (!schema) throw new Error(`${type} is no detail type that errors use`)
  return anyPack(schema, fromJson(schema, fields as JsonObject))
}
