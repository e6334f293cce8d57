import { advisorySearch } from './advisory-search.ts'
import type { Attack } from './attack.ts'
import { bindingFanOut } from './binding-fan-out.ts'
import { costlyPatterns, costlyReadmes } from './costly-text.ts'
import { failingExchanges } from './failing-exchanges.ts'
import { flood, getOfTenant } from './flood.ts'
import { hpackBomb, largeHeaders } from './header-blocks.ts'
import { rapidReset } from './rapid-reset.ts'
import { authorizeFlood, deviceCodes } from './sign-in-flood.ts'
import { slowBodies } from './slow-bodies.ts'
import { httpGet } from './sockets.ts'
import { unreadLists } from './unread-lists.ts'
import { unreadPipeline } from './unread-pipeline.ts'

export const attacks: Record<string, Attack> = {
  'unknown-paths': flood(() => httpGet('/nope')),
  'missing-tokens': flood(() => httpGet('/iam/v2beta1/groups')),
  'health-checks': flood(() => httpGet('/healthz')),
  'busy-tenant': flood(getOfTenant),
  'unread-pipeline': unreadPipeline,
  'unread-lists': unreadLists,
  'rapid-reset': rapidReset,
  'large-headers': largeHeaders,
  'hpack-bomb': hpackBomb,
  'advisory-search': advisorySearch,
  'binding-fan-out': bindingFanOut,
  'slow-bodies': slowBodies,
  authorize: authorizeFlood,
  'device-codes': deviceCodes,
  'failing-exchanges': failingExchanges,
  readmes: costlyReadmes,
  patterns: costlyPatterns,
}
