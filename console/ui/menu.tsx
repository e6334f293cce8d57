// A button that opens a menu. The popover closes by itself on Escape and on a click elsewhere.
import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'
import { navigate } from '../router/router.ts'
import { Button } from './button.tsx'
import type { IconName } from './icon.tsx'

export type MenuItem = {
  /** Needed if several items have the same label. */
  key?: string
  label: string
  /** A path made by paths.ts. An item has either `to` or `onSelect`. */
  to?: string
  onSelect?: () => void
  disabledReason?: string | undefined
  isDanger?: boolean
}

export type MenuProps = {
  label: string
  items: readonly MenuItem[]
  icon?: IconName
  /** The visible text of the button; without it, the button has only its icon. */
  children?: ComponentChildren
  class?: string
}

export function Menu({ label, items, icon, children, class: className }: MenuProps) {
  const id = useId()
  const menu = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLSpanElement>(null)
  const toggle = (event: Event) => {
    // The browser would toggle the menu only after this handler. The code below needs the size of
    // the open menu.
    event.preventDefault()
    const [list, at] = [menu.current, button.current?.getBoundingClientRect()]
    if (!list || !at) return
    if (list.matches(':popover-open')) return list.hidePopover()
    list.showPopover()
    const { width, height } = list.getBoundingClientRect()
    const top = at.bottom + height > innerHeight ? at.top - height - 4 : at.bottom + 4
    list.style.top = `${Math.max(4, top)}px`
    list.style.left = `${Math.max(4, Math.min(at.left, innerWidth - width - 8))}px`
    list.querySelector<HTMLElement>('[role=menuitem]')?.focus()
  }
  const select = ({ to, onSelect, disabledReason }: MenuItem) => {
    if (disabledReason !== undefined) return
    menu.current?.hidePopover()
    if (to !== undefined) void navigate(to)
    onSelect?.()
  }
  return (
    <span class="menu-button" ref={button}>
      <Button
        // Without this, a press on the button is a click outside the menu and closes it before `toggle` runs.
        popovertarget={id}
        aria-haspopup="menu"
        aria-controls={id}
        aria-label={label}
        title={label}
        class={className ?? (children ? '' : 'icon-only')}
        onClick={toggle}
        {...(icon && { icon })}
      >
        {children}
      </Button>
      <div
        id={id}
        ref={menu}
        popover="auto"
        role="menu"
        aria-label={label}
        class="menu"
        onKeyDown={moveFocus}
      >
        {items.map((item) => (
          <button
            key={item.key ?? item.label}
            type="button"
            role="menuitem"
            tabIndex={-1}
            class={item.isDanger ? 'danger' : ''}
            aria-disabled={item.disabledReason !== undefined}
            title={item.disabledReason}
            onClick={() => select(item)}
          >
            {item.label}
          </button>
        ))}
      </div>
    </span>
  )
}

/** Arrow keys, Home and End move between the items. */
function moveFocus(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>('[role=menuitem]')]
  const at = items.indexOf(document.activeElement as HTMLElement)
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key]
  if (next === undefined) return
  event.preventDefault()
  items.at(next % items.length)?.focus()
}
