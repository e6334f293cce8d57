import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AuditEntriesService } from '@stemma/api/gen/platform/audit/v2beta1/audit_entry_pb.ts'
import { Groups } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { AccountService } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { Content } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { deadlineExceeded, noSuchPath } from '../aip/errors.ts'
import { withNarrowingAdvice } from './narrowing.ts'

const { getGroup, listGroups } = GroupsService.method
const { listTags } = TagsService.method
const { exportAuditEntries } = AuditEntriesService.method

describe('the error of a call that took too long', () => {
  test('says how to ask for less if the call is a list', () => {
    const { code, message } = withNarrowingAdvice(describeMethod(listGroups), deadlineExceeded())
    assert.equal(code, deadlineExceeded().code)
    assert.equal(
      message,
      'Deadline exceeded: the call took too long; ask for less: set a smaller page_size, or filter by uidp.descendants_of, uidp.children_of, name or name_contains',
    )
  })

  test('does not mention page_size for a list of v1, which has no pages', () => {
    const { message } = withNarrowingAdvice(describeMethod(Groups.method.list), deadlineExceeded())
    assert.match(message, /ask for less: filter by .*uidp\.descendants_of/)
    assert.doesNotMatch(message, /page_size/)
  })

  test('does not mention page_size for a stream, which refuses it', () => {
    for (const method of [
      AdvisoriesService.method.exportAdvisoriesOsv,
      AdvisoriesService.method.exportAdvisoriesOpenVex,
    ]) {
      const { message } = withNarrowingAdvice(describeMethod(method), deadlineExceeded())
      assert.match(message, /ask for less: filter by .*advisory_ids/)
      assert.doesNotMatch(message, /page_size/)
    }
  })

  test('does not advise filtering by a required field', () => {
    const error = deadlineExceeded()
    assert.equal(withNarrowingAdvice(describeMethod(AccessService.method.batchCheckAccess), error), error)
    const { message } = withNarrowingAdvice(describeMethod(AccessService.method.listAccess), error)
    assert.match(message, /ask for less: set a smaller page_size, or filter by capability or identity$/)
  })

  test('does not advise fields that make a list longer or change only its form', () => {
    const { message: ofTags } = withNarrowingAdvice(describeMethod(listTags), deadlineExceeded())
    assert.match(ofTags, /children_of, name, updated_since or digest$/)
    const { message: ofExport } = withNarrowingAdvice(describeMethod(exportAuditEntries), deadlineExceeded())
    assert.match(ofExport, /start_time or end_time$/)
  })

  test('stays as it is for calls of the registry protocol, whose clients cannot set the fields', () => {
    const error = deadlineExceeded()
    for (const method of [Content.method.listTagNames, Content.method.listReferrers])
      assert.equal(withNarrowingAdvice(describeMethod(method), error), error)
  })

  test('stays as it is for a method that is not a list, even if it costs as much as one', () => {
    const error = deadlineExceeded()
    assert.equal(withNarrowingAdvice(describeMethod(ReposService.method.previewRetention), error), error)
  })

  test('stays as it is for other calls, and so do other errors', () => {
    const error = deadlineExceeded()
    assert.equal(withNarrowingAdvice(describeMethod(getGroup), error), error)
    assert.equal(withNarrowingAdvice(describeMethod(AccountService.method.listSessions), error), error)
    assert.equal(withNarrowingAdvice(describeMethod(listGroups), noSuchPath()), noSuchPath())
  })
})
