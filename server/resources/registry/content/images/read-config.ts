// Reads the configuration of an image: the settings with which it runs (OCI image specification, "config").
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type { ImageConfig } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { ImageConfigSchema } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { parseConfig } from '../platforms.ts'

/** Undefined if the blob is not the configuration of an image. Settings of wrong types are left out. */
export function readConfig(blob: Uint8Array): ImageConfig | undefined {
  const fields = parseConfig(blob)
  if (!fields || typeof fields.architecture !== 'string') return undefined
  const settings = isObject(fields.config) ? fields.config : {}
  const init: MessageInitShape<typeof ImageConfigSchema> = {
    user: text(settings.User),
    exposedPorts: emptyMessages(settings.ExposedPorts),
    env: texts(settings.Env),
    entrypoint: texts(settings.Entrypoint),
    cmd: texts(settings.Cmd),
    volumes: emptyMessages(settings.Volumes),
    workingDir: text(settings.WorkingDir),
    labels: labelsOf(settings.Labels),
    stopSignal: text(settings.StopSignal),
  }
  return create(ImageConfigSchema, init)
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Halves of surrogate pairs, which JSON can contain, have no place in protobuf. */
const text = (value: unknown): string => (typeof value === 'string' ? value.toWellFormed() : '')

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string').map(text) : []

/** The keys of an object, each with an empty message in place of its value. */
const emptyMessages = (value: unknown): Record<string, Record<never, never>> =>
  isObject(value) ? Object.fromEntries(Object.keys(value).map((key) => [text(key), {}])) : {}

const labelsOf = (value: unknown): Record<string, string> =>
  isObject(value)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([key, label]) =>
          typeof label === 'string' ? [[text(key), text(label)]] : [],
        ),
      )
    : {}
