import { findIdentities } from '../../api/find-identities.ts'
import { Combobox } from '../../ui/combobox.tsx'
import type { SearchFilterProps } from '../../ui/filter.tsx'
import { setFilter } from '../../ui/filter.tsx'

/**
 * Filters a list by a person or a workload. The URL contains only the uid, so `identityName` comes from the entries of
 * the list. It is undefined if there are none.
 */
export function IdentityFilter({
  place,
  name,
  label,
  identityName,
}: SearchFilterProps & { identityName: string | undefined }) {
  const uid = place.query.get(name) ?? ''
  return (
    <Combobox
      key={uid}
      label={label}
      name={name}
      isFilter
      find={findIdentities(place.group)}
      {...(uid && { chosen: { value: uid, label: identityName || uid } })}
      onChoose={(option) => option && setFilter(place, name, option.value)}
    />
  )
}
