// Begins sign-ins and asks for device codes without an account, and finishes none.
import { randomBytes } from 'node:crypto'
import type { Attack } from './attack.ts'

export const authorizeFlood: Attack = {
  parallel: 8,
  async round(target) {
    const query = new URLSearchParams({
      ...{ client_id: 'stemma', response_type: 'code', scope: 'openid offline_access' },
      ...{ redirect_uri: 'http://127.0.0.1:45678/callback', state: randomBytes(16).toString('hex') },
      ...{ code_challenge: randomBytes(32).toString('base64url'), code_challenge_method: 'S256' },
    })
    await target.call({ method: 'GET', path: `/oauth/authorize?${query}`, headers: {} }, target.nextAddress())
  },
}

export const deviceCodes: Attack = {
  parallel: 8,
  async round(target) {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const body = 'client_id=stemma&scope=openid'
    await target.call({ method: 'POST', path: '/oauth/device', headers, body }, target.nextAddress())
  },
}
