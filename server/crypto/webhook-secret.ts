// Secrets and signatures of webhooks (Standard Webhooks 1.0.0).
import { createHmac } from 'node:crypto'
import type { RandomBytes } from './random.ts'

const prefix = 'whsec_'

export const newWebhookSecret = (random: RandomBytes) => prefix + random(32).toString('base64')

/** The value of the header `webhook-signature`: one signature for each secret. `time` is in seconds since 1970. */
export function webhookSignature(
  secrets: readonly string[],
  { id, time, body }: { id: string; time: number; body: string },
): string {
  const sign = (secret: string) =>
    createHmac('sha256', Buffer.from(secret.slice(prefix.length), 'base64'))
      .update(`${id}.${time}.${body}`)
      .digest('base64')
  return secrets.map((secret) => `v1,${sign(secret)}`).join(' ')
}
