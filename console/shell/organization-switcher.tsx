import { useRead } from '../api/read.ts'
import { paths } from '../paths.ts'
import { Menu } from '../ui/menu.tsx'
import { organizations } from './organizations.ts'

/** More organizations than this are on the home page only. */
const maxListed = 12

export function OrganizationSwitcher() {
  const { data } = useRead(organizations)
  const items = (data?.groups ?? []).slice(0, maxListed).map(({ uid = '', name = '' }) => ({
    ...{ key: uid, label: name, to: paths.group(uid) },
  }))
  return (
    <Menu
      icon="down"
      label="Switch organization"
      items={[...items, { label: 'All organizations', to: paths.home() }]}
    />
  )
}
