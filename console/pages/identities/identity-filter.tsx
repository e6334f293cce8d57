import { useRef } from 'preact/hooks'
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
  const field = useRef({ uid, applied: uid, version: 0 }).current
  // A link or the back button can change the filter, too. Then the field starts anew. After a change by the person who
  // uses the field, it keeps its focus and text.
  if (uid !== field.uid && uid !== field.applied) {
    field.applied = uid
    field.version++
  }
  field.uid = uid
  const apply = (value: string) => {
    if (value === field.applied) return
    field.applied = value
    setFilter(place, name, value)
  }
  return (
    <Combobox
      key={field.version}
      label={label}
      name={name}
      isFilter
      find={findIdentities(place.group)}
      {...(uid && { chosen: { value: uid, label: identityName || uid } })}
      onChoose={(option) => option && apply(option.value)}
      onClear={() => apply('')}
    />
  )
}
