// The HTTP forms of a CloudEvent (CloudEvents HTTP protocol binding 1.0.2, sections 3.1 and 3.2).
import type { CloudEvent } from './cloud-event.ts'

export type HttpMessage = { headers: Record<string, string>; body: string }

/** Binary mode: attributes are headers, and the body is the data. */
export function binaryMessage({ attributes, contentType, data }: CloudEvent): HttpMessage {
  const headers: Record<string, string> = { 'content-type': contentType }
  for (const [name, value] of Object.entries(attributes)) headers[`ce-${name}`] = headerText(value)
  return { headers, body: data }
}

/** Structured mode: the body contains attributes and data. */
export function structuredMessage(event: CloudEvent): HttpMessage {
  return {
    headers: { 'content-type': 'application/cloudevents+json; charset=UTF-8' },
    body: structuredJson(event),
  }
}

export function structuredJson({ attributes, contentType, data }: CloudEvent): string {
  const context = JSON.stringify({ ...attributes, datacontenttype: contentType })
  return `${context.slice(0, -1)},"data":${data}}`
}

/** Section 3.1.3.2: percent-encodes spaces, quotation marks, percent signs and everything but printable ASCII. */
export const headerText = (value: string): string =>
  value
    .toWellFormed()
    .replace(/[^\x21\x23\x24\x26-\x7e]+/g, (text) =>
      [...Buffer.from(text)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
    )
