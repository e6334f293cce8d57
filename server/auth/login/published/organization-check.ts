import { invalidField } from '../../../aip/errors.ts'
import type { Store } from '../../../store/db.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import { findProviderByDomain } from '../upstream/known-providers.ts'

/** Tells published clients whether the verified organization named after a domain has an identity provider. */
export async function checkOrganization(
  { store }: { store: Store },
  { query }: PageRequest,
): Promise<PageResponse> {
  const name = query.get('name') ?? ''
  if (!/^[^\p{C}]{1,255}$/u.test(name)) throw invalidField('name', 'must be the name of an organization')
  return { json: (await findProviderByDomain(store, name)) !== undefined }
}
