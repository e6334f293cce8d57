import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toast, toasts } from './toast.ts'

test('errors stay, and other toasts make room for new ones', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const texts = () => toasts.value.map(({ text }) => text)
  toast('failed', 'error')
  for (const text of ['one', 'two', 'three', 'four']) toast(text)
  assert.deepEqual(texts(), ['failed', 'two', 'three', 'four'])
  for (const text of ['second', 'third', 'fourth', 'fifth']) toast(text, 'error')
  assert.deepEqual(texts(), ['failed', 'second', 'third', 'fourth', 'fifth'])
  t.mock.timers.runAll()
  assert.equal(toasts.value.length, 5)
})
