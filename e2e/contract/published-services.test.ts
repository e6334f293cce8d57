// Calls every rpc of the published SDK: those of the contract are served, and the others are refused with a message that
// says so. The list is scripts/published-services.txt.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { after, before, describe, test } from 'node:test'
import { Client, credentials } from '@grpc/grpc-js'
import { readPublishedServices } from '../../scripts/published-services.ts'
import { Code } from '../../server/aip/code.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'

const published = readPublishedServices()
const asIs = (bytes: Buffer) => bytes

type Outcome = { code: number; message: string }

describe('the rpcs of the published SDK', () => {
  let platform: Platform
  let client: Client
  before(async () => {
    platform = await startPlatform('sqlite')
    client = new Client(new URL(platform.url).host, credentials.createInsecure())
  })
  after(async () => {
    client.close()
    await platform.stop()
  })

  const call = (path: string) =>
    new Promise<Outcome>((resolve) => {
      client.makeUnaryRequest(path, asIs, asIs, Buffer.of(), (error) =>
        resolve({ code: error?.code ?? Code.OK, message: error?.details ?? '' }),
      )
    })

  /** Calls the rpcs under all names of their services, all at once. */
  async function callAll(rpcsOf: (service: (typeof published)[number]) => string[]) {
    const paths = published.flatMap((service) =>
      namesOf(service.name).flatMap((name) => rpcsOf(service).map((rpc) => `/${name}/${rpc}`)),
    )
    return Promise.all(paths.map(async (path) => ({ path, ...(await call(path)) })))
  }

  test('are listed once each', () => {
    const rpcs = published.flatMap(({ name, served, notServed }) =>
      [...served, ...notServed].map((rpc) => `${name}/${rpc}`),
    )
    assert.equal(new Set(rpcs).size, rpcs.length)
    assert.equal(rpcs.length, 307)
  })

  test('are answered if the contract has them', async () => {
    for (const { path, code } of await callAll(({ served }) => served))
      assert.notEqual(code, Code.UNIMPLEMENTED, path)
  })

  test('are refused with a message that says so if the contract lacks them', async () => {
    const outcomes = await callAll(({ notServed }) => notServed)
    for (const { path, code, message } of outcomes) {
      assert.equal(code, Code.UNIMPLEMENTED, path)
      assert.equal(
        message,
        'Unimplemented: Stemma does not serve this method; docs/clients.md lists the services and methods that it serves',
        path,
      )
    }
  })

  test('are refused in the same way as unknown and malformed paths if the contract lacks them', async () => {
    const strange = [
      '/a/b',
      '/platform.iam.Groups/',
      '/platform.iam.Groups',
      '//',
      '/',
      '/platform.iam.Groups/List/',
    ]
    for (const { code, message } of await Promise.all(strange.map(call))) {
      assert.equal(code, Code.UNIMPLEMENTED)
      assert.match(message, /Stemma does not serve this method/)
    }
  })

  test('are refused before the request arrives, also if a hundred are called at once', async () => {
    const session = connect(platform.url)
    const statuses = Array.from({ length: 100 }, async () => {
      const stream = session.request({
        ...{ ':method': 'POST', ':path': '/platform.policies.v1.Policies/ListPolicies' },
        ...{ 'content-type': 'application/grpc', te: 'trailers' },
      })
      const [headers] = await once(stream, 'response')
      stream.close()
      return headers['grpc-status']
    })
    assert.deepEqual(new Set(await Promise.all(statuses)), new Set([String(Code.UNIMPLEMENTED)]))
    session.destroy()
  })

  test('have no other paths over REST than those of the contract', async () => {
    const response = await fetch(`${platform.url}/libraries/v1/artifacts`)
    const { code, message } = (await response.json()) as Outcome
    assert.deepEqual([response.status, code], [404, Code.NOT_FOUND])
    assert.match(message, /^Not found: no such path; .*docs\/clients\.md/)
  })
})

/** With and without the vendor prefix; v2beta1 also as v2. */
const namesOf = (name: string): string[] =>
  [...new Set([name, name.replace('.v2beta1.', '.v2.')])].flatMap((alias) => [alias, `chainguard.${alias}`])
