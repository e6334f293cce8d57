import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { binaryMessage, headerText, structuredMessage } from './http-message.ts'

const event = {
  attributes: { specversion: '1.0', id: '1', source: 'https://api.test/iam', type: 'a.b', subject: 'é "x"' },
  contentType: 'application/json',
  data: '{"body":{"name":"é"}}',
} as const

describe('a CloudEvent over HTTP', () => {
  test('in binary mode has a header for each attribute, and its data as the body', () => {
    assert.deepEqual(binaryMessage(event), {
      headers: {
        'content-type': 'application/json',
        'ce-specversion': '1.0',
        'ce-id': '1',
        'ce-source': 'https://api.test/iam',
        'ce-type': 'a.b',
        'ce-subject': '%C3%A9%20%22x%22',
      },
      body: event.data,
    })
  })

  test('in structured mode has attributes and data in one JSON object', () => {
    const { headers, body } = structuredMessage(event)
    assert.deepEqual(headers, { 'content-type': 'application/cloudevents+json; charset=UTF-8' })
    assert.deepEqual(JSON.parse(body), {
      ...event.attributes,
      datacontenttype: 'application/json',
      data: { body: { name: 'é' } },
    })
  })

  test('encodes header values as the CloudEvents HTTP protocol binding requires', () => {
    // The examples of section 3.1.3.2 of the binding, and characters that would end or split a header.
    assert.equal(headerText('Euro € 😀'), 'Euro%20%E2%82%AC%20%F0%9F%98%80')
    assert.equal(headerText('100% "sure"'), '100%25%20%22sure%22')
    assert.equal(headerText("!#$&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~"), "!#$&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~")
    assert.equal(headerText('a\r\nauthorization: b\0\x7f'), 'a%0D%0Aauthorization:%20b%00%7F')
    assert.equal(headerText('\ud800'), '%EF%BF%BD')
  })
})
