import type { ComponentChildren } from 'preact'
import type { IconName } from './icon.tsx'
import { Icon } from './icon.tsx'

export type EmptyProps = {
  icon: IconName
  title: string
  children: ComponentChildren
  action?: ComponentChildren
}

/** Stands where a list would be. Says what the list is for and how to begin. */
export const Empty = ({ icon, title, children, action }: EmptyProps) => (
  <div class="empty">
    <Icon name={icon} />
    <h2>{title}</h2>
    <p>{children}</p>
    {action}
  </div>
)
