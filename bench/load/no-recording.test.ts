import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as record from '../../server/store/events/record.ts'
import * as noRecording from './no-recording.ts'

test('the replacement of the module that records events exports the same names', () =>
  assert.deepEqual(Object.keys(noRecording satisfies typeof record), Object.keys(record)))
