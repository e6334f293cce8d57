import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clone, create } from '@bufbuild/protobuf'
import { Code } from '../gen/google/rpc/code_pb.ts'
import { ListGroupsRequestSchema } from '../gen/platform/iam/v2beta1/group_pb.ts'
import { groupsAt, isStemmaError } from '../testing/clients.ts'
import { sendJson, serversOfSuite } from '../testing/scripted-server.ts'
import { list } from './list.ts'

describe('list', () => {
  const { start } = serversOfSuite()

  test('fails if the server returns the same page token again', async () => {
    const { url, requests } = await start(sendJson({ groups: [{ name: 'a' }], nextPageToken: 'again' }))
    await assert.rejects(Array.fromAsync(list(groupsAt(url).listGroups, {})), isStemmaError(Code.INTERNAL))
    assert.equal(requests.length, 2)
  })

  test('requests 200 items per page by default and sends skip only with the first request', async () => {
    const page = sendJson({ groups: [{ name: 'a' }], nextPageToken: 'b' })
    const { url, requests } = await start(page, sendJson({ groups: [{ name: 'b' }] }))
    const names = await Array.fromAsync(list(groupsAt(url).listGroups, { skip: 3 }), ({ name }) => name)
    assert.deepEqual(names, ['a', 'b'])
    assert.deepEqual(
      requests.map((request) => request.url),
      ['/iam/v2beta1/groups?pageSize=200&skip=3', '/iam/v2beta1/groups?pageSize=200&pageToken=b'],
    )
  })

  test('accepts a message as its request and does not change it', async () => {
    const page = sendJson({ groups: [{ name: 'a' }], nextPageToken: 'b' })
    const { url, requests } = await start(page, sendJson({}))
    const request = create(ListGroupsRequestSchema, { skip: 3, uidp: { childrenOf: 'c' } })
    const before = clone(ListGroupsRequestSchema, request)
    const [group] = await Array.fromAsync(list(groupsAt(url).listGroups, request))
    assert.equal(group?.$typeName, 'platform.iam.v2beta1.Group')
    assert.deepEqual(request, before)
    assert.deepEqual(
      requests.map(({ url }) => url?.split('?')[1]),
      ['uidp.childrenOf=c&pageSize=200&skip=3', 'uidp.childrenOf=c&pageSize=200&pageToken=b'],
    )
  })
})
