// URLs to which events may be sent. Whether the host has a public address is checked when an event is sent.
import { isLoopback } from '../../../claims/issuer.ts'

/** Describes what is wrong with a sink. */
export function sinkFault(sink: string, isLoopbackAllowed: boolean): string | undefined {
  const url = URL.canParse(sink) ? new URL(sink) : undefined
  if (!url || !/^https?:\/\/[!-~]+$/.test(sink)) return 'must be an https URL'
  if (url.username !== '' || url.password !== '') return 'must be a URL without user or password'
  if (sink.includes('#')) return 'must be a URL without fragment'
  if (url.protocol === 'https:' || (isLoopbackAllowed && isLoopback(url))) return undefined
  return 'must be an https URL'
}
