import type { KoaContextWithOIDC } from 'oidc-provider'

/** The secret of a session. A form that contains the secret was sent from our own page. */
export const formSecretOf = (ctx: KoaContextWithOIDC): string =>
  String((ctx.oidc.session?.state as { secret?: string } | undefined)?.secret ?? '')
