// The metadata of the policy decision point (AuthZEN 1.0 section 9), and the paths that it names.
import type { PlainPaths } from '../plain-paths.ts'

export const prefix = '/access/v1/'

export const paths = {
  access_evaluation_endpoint: `${prefix}evaluation`,
  access_evaluations_endpoint: `${prefix}evaluations`,
  search_subject_endpoint: `${prefix}search/subject`,
  search_resource_endpoint: `${prefix}search/resource`,
  search_action_endpoint: `${prefix}search/action`,
}

/** In seconds. */
const cacheFor = 300

/** The well-known path comes before the path of the base URL, if it has one (RFC 8615). */
export function metadataPath(baseUrl: string): PlainPaths {
  const endpoints = Object.entries(paths).map(([name, path]) => [name, baseUrl + path])
  const body = JSON.stringify({ policy_decision_point: baseUrl, ...Object.fromEntries(endpoints) })
  const suffix = new URL(baseUrl).pathname.replace(/\/$/, '')
  return {
    [`/.well-known/authzen-configuration${suffix}`]: () => ({
      status: 200,
      type: 'application/json',
      cacheFor,
      body,
    }),
  }
}
