import type { ComponentChildren, JSX } from 'preact'
import { hrefOf } from './router.ts'

export type LinkProps = Omit<JSX.IntrinsicElements['a'], 'href'> & {
  /** A path made by paths.ts, with a query or without. */
  to: string
  children?: ComponentChildren
}

export const Link = ({ to, ...rest }: LinkProps) => <a href={hrefOf(to)} {...rest} />
