import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Groups } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { deadlineExceeded, noSuchPath } from '../aip/errors.ts'
import { withNarrowing } from './narrowing.ts'

const { getGroup, listGroups } = GroupsService.method

describe('the error of a call that took too long', () => {
  test('says how to ask for less if the call is a list', () => {
    const { code, message } = withNarrowing(describeMethod(listGroups), deadlineExceeded())
    assert.equal(code, deadlineExceeded().code)
    assert.equal(
      message,
      'Deadline exceeded: the call took too long; ask for less: set a smaller page_size, or filter by uidp.descendants_of, uidp.children_of or name',
    )
  })

  test('names no page size to a list of v1, which has no pages', () => {
    const { message } = withNarrowing(describeMethod(Groups.method.list), deadlineExceeded())
    assert.match(message, /ask for less: filter by .*uidp\.descendants_of/)
    assert.doesNotMatch(message, /page_size/)
  })

  test('stays as it is for other calls, and so do other errors', () => {
    const error = deadlineExceeded()
    assert.equal(withNarrowing(describeMethod(getGroup), error), error)
    assert.equal(withNarrowing(describeMethod(listGroups), noSuchPath()), noSuchPath())
  })
})
