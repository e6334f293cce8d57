import type { ComponentChildren, JSX } from 'preact'
import { Link } from '../router/link.tsx'
import type { IconName } from './icon.tsx'
import { Icon } from './icon.tsx'

export type ButtonProps = Omit<JSX.IntrinsicElements['button'], 'disabled' | 'icon'> & {
  tone?: 'primary' | 'plain' | 'danger'
  icon?: IconName
  /** Disables the button and is shown as its tooltip. A disabled button keeps its place in the tab order. */
  disabledReason?: string | undefined
  isBusy?: boolean
  children?: ComponentChildren
}

export function Button({
  tone = 'plain',
  icon,
  disabledReason,
  isBusy,
  onClick,
  children,
  ...rest
}: ButtonProps) {
  const isDisabled = disabledReason !== undefined || isBusy === true
  const click: typeof onClick = (event) => {
    if (isDisabled) event.preventDefault()
    else onClick?.(event)
  }
  return (
    <button
      type="button"
      {...rest}
      class={`button ${tone} ${rest.class ?? ''}`}
      aria-disabled={isDisabled}
      aria-busy={isBusy}
      title={disabledReason ?? rest.title}
      onClick={click}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

export type ButtonLinkProps = {
  to: string
  tone?: 'primary' | 'plain'
  icon?: IconName
  disabledReason?: string | undefined
  /** Opens a page outside of the console, in a window of its own. */
  isExternal?: boolean
  children?: ComponentChildren
}

/** A link that looks like a button: for everything that only changes the URL, such as opening a dialog. */
export function ButtonLink({
  to,
  tone = 'plain',
  icon,
  disabledReason,
  isExternal,
  children,
}: ButtonLinkProps) {
  if (disabledReason !== undefined)
    return (
      <Button tone={tone} disabledReason={disabledReason} {...(icon && { icon })}>
        {children}
      </Button>
    )
  return (
    <Link to={to} class={`button ${tone}`} {...(isExternal && { target: '_blank' })}>
      {icon && <Icon name={icon} />}
      {children}
    </Link>
  )
}

type IconButtonProps = Omit<ButtonProps, 'icon' | 'children' | 'tone'> & { icon: IconName; label: string }

export const IconButton = ({ icon, label, ...rest }: IconButtonProps) => (
  <Button
    {...rest}
    class={`icon-only ${rest.class ?? ''}`}
    icon={icon}
    aria-label={label}
    title={rest.title ?? label}
  />
)
