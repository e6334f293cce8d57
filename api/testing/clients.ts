// Clients of scripted servers, with short delays between retries.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '../client/client.ts'
import type { ConnectionOptions } from '../client/options.ts'
import { StemmaError } from '../client/stemma-error.ts'
import type { Code } from '../gen/google/rpc/code_pb.ts'
import { GroupsService } from '../gen/platform/iam/v2beta1/group_pb.ts'
import { AdvisoriesService } from '../gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'

export const quickRetry = { initialDelayMs: 5, random: () => 0 }

export const groupsAt = (baseUrl: string, options: Partial<ConnectionOptions> = {}) =>
  createClient(GroupsService, { baseUrl, retry: quickRetry, ...options })

export const advisoriesAt = (baseUrl: string, options: Partial<ConnectionOptions> = {}) =>
  createClient(AdvisoriesService, { baseUrl, retry: quickRetry, ...options })

export const isStemmaError = (code: Code, message = /./) => {
  return (error: unknown) => {
    assert.ok(error instanceof StemmaError, String(error))
    assert.equal(error.code, code, error.message)
    assert.match(error.message, message)
    return true
  }
}

export async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5)
}
