import type { KoaContextWithOIDC } from 'oidc-provider'

/** The session's secret. A form carries it to prove that it was sent from our own page. */
export const formSecretOf = (ctx: KoaContextWithOIDC): string =>
  String((ctx.oidc.session?.state as { secret?: string } | undefined)?.secret ?? '')
