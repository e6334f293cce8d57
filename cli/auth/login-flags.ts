const text = { type: 'string' } as const
const toggle = { type: 'boolean' } as const

/** The flags of `stemma auth login`, without those of the context. */
export const loginFlags = {
  identity: text,
  'identity-token': text,
  device: toggle,
  'no-browser': toggle,
  invite: text,
  'identity-provider': text,
  'login-hint': text,
  again: toggle,
}
