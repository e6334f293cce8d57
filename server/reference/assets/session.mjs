// The session of the console in this browser. Its access token is only in memory.

export const prefix = document.documentElement.dataset.prefix

/** A token is not used in its last seconds, because it could expire on the way. */
const marginMs = 30_000

let held

/** The person and an access token, or undefined if nobody is signed in. */
export async function readSession() {
  if (held && held.expires > Date.now()) return held
  const response = await fetch(`${prefix}/console/token`, {
    method: 'POST',
    headers: { 'x-stemma-console': '1' },
    cache: 'no-store',
  })
  if (!response.ok) throw new Error(await reasonOf(response))
  const { token, expiresInSeconds, person } = await response.json()
  held = token && { token, person, expires: Date.now() + expiresInSeconds * 1000 - marginMs }
  return held
}

/** After a call was answered with 401. */
export function forgetSession() {
  held = undefined
}

async function reasonOf(response) {
  const { message } = await response.json().catch(() => ({}))
  return message ?? `the server answered ${response.status}`
}

/** Leads to the sign-in, and back to a form of this page. */
export const signInPath = (form) =>
  `${prefix}/console/sign-in?to=${encodeURIComponent(`${location.pathname.slice(prefix.length)}#${form}`)}`
