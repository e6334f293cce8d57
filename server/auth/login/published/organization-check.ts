import { invalidField } from '../../../aip/errors.ts'
import type { Store } from '../../../store/db.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import { findProviderByDomain } from '../upstream/known-providers.ts'

/** Published clients ask whether a verified organization of this name has an identity provider. */
export async function checkOrganization(
  { store }: { store: Store },
  { query }: PageRequest,
): Promise<PageResponse> {
  const name = query.get('name') ?? ''
  if (!/^[^\p{C}]{1,255}$/u.test(name)) throw invalidField('name', 'must be the name of an organization')
  return { json: (await findProviderByDomain(store, name)) !== undefined }
}
