// Runs examples on both stores and through both doors, which must return the same responses. Each run of an example has
// its own organization.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { toCamel } from '../../server/aip/field-path.ts'
import type { CallResult, Door, ErrorBody } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { platformOfExamples } from './shared-platform.ts'

export type ExampleContext = {
  platform: Platform
  door: Door
  owner: TestIdentity
  /** Calls with the token, by default that of the owner, and returns the outcome. */
  call(method: DescMethod, request: JsonObject, token?: string): Promise<CallResult>
  /** Calls and returns the response; fails on an error. */
  succeed(method: DescMethod, request: JsonObject, token?: string): Promise<JsonObject>
  /** Calls and returns the error; fails on success. */
  fail(method: DescMethod, request: JsonObject, token?: string): Promise<ErrorBody>
}

export type Example = (stage: ExampleContext) => Promise<void>

/** Suites with the same clock share a platform. */
export function examples(
  name: string,
  exampleByName: Record<string, Example>,
  now: () => number = Date.now,
): void {
  onEachStore(name, (engine) => {
    let platform: Platform
    let doors: Door[] = []
    before(async () => {
      platform = await platformOfExamples(engine, now)
      doors = [restDoor(platform.url), grpcDoor(platform.url)]
    })
    after(() => {
      for (const door of doors) door.close()
    })

    for (const [exampleName, example] of Object.entries(exampleByName)) {
      test(exampleName, async () => {
        const transcripts: CallResult[][] = []
        for (const door of doors) {
          const transcript: CallResult[] = []
          await example(await newContext(platform, door, transcript))
          transcripts.push(transcript.map(normalizer()))
        }
        assert.deepEqual(transcripts[1], transcripts[0], 'gRPC must answer as REST does')
      })
    }
  })
}

async function newContext(platform: Platform, door: Door, transcript: CallResult[]): Promise<ExampleContext> {
  const owner = await platform.addOrganization('acme')
  const call = async (method: DescMethod, request: JsonObject, token = owner.token) => {
    const answer = await door.call(method, request, token)
    transcript.push(answer)
    return answer
  }
  return {
    ...{ platform, door, owner, call },
    async succeed(method, request, token) {
      const { body, error } = await call(method, request, token)
      assert.ok(body, `${door.name} ${method.name} failed: ${error?.message}`)
      return body
    },
    async fail(method, request, token) {
      const { error } = await call(method, request, token)
      assert.ok(error, `${door.name} ${method.name} should have failed`)
      assert.equal(detail(error, 'ErrorInfo')?.domain, 'iam.stemma.dev', 'every error carries ErrorInfo')
      return error
    },
  }
}

export const detail = (error: ErrorBody, type: string) =>
  error.details.find((entry) => entry['@type'] === `type.googleapis.com/google.rpc.${type}`)

/** Creates a resource and returns its uid. */
export async function make(
  { succeed }: ExampleContext,
  method: DescMethod,
  request: JsonObject,
): Promise<string> {
  return (await succeed(method, request)).uid as string
}

/** The fields of the violations of an error, in JSON spelling. */
export function violations(error: ErrorBody): string[] {
  const { fieldViolations = [] } = (detail(error, 'BadRequest') ?? {}) as {
    fieldViolations?: { field: string }[]
  }
  return fieldViolations.map(({ field }) => toCamel(field))
}

/**
 * Replaces values that differ from run to run: uids and advisory ids by numbers in order of appearance, times, codes and
 * tokens by fixed words. Also writes all field names in camel case, because the doors spell them differently in errors.
 */
function normalizer(): (answer: CallResult) => CallResult {
  const numbers = new Map<string, string>()
  const numberOf = (id: string) => {
    if (!numbers.has(id)) numbers.set(id, `#${numbers.size + 1}`)
    return numbers.get(id) ?? ''
  }
  return (answer) => {
    const text = JSON.stringify(answer)
      .replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"time"')
      .replaceAll(/"nextPageToken":"[^"]+"/g, '"nextPageToken":"token"')
      .replaceAll(/"code":"[^"]+"/g, '"code":"code"')
      .replaceAll(/\/invite\/[\w-]+/g, '/invite/code')
      .replaceAll(/"(hash|requestId|door|userAgent)":"[^"]*"/g, '"$1":"differs"')
      .replaceAll(/"eyJ[\w.-]+"/g, '"token"')
      .replaceAll(/"whsec_[^"]+"/g, '"secret"')
      .replaceAll(/\b[0-9a-f]{40}\b|\b[0-9a-f]{32}\b|\b[0-9a-f]{16}\b|\bCGA(?:-\w{4}){3}\b/g, numberOf)
      .replaceAll(/"(?:field|description|message)":"(?:[^"\\]|\\.)*"/g, toCamel)
    return JSON.parse(text) as CallResult
  }
}
