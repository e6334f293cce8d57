// A table of one page of a list.
import type { ComponentChildren } from 'preact'
import type { Place } from '../router/route.ts'
import { navigate, withQuery } from '../router/router.ts'
import { Button } from './button.tsx'
import { copyText } from './copy.tsx'
import type { MenuItem } from './menu.tsx'
import { Menu } from './menu.tsx'
import { toast } from './toast.ts'

export type Column<Row> = {
  title: string
  cell(row: Row): ComponentChildren
  /** Left out on narrow screens. */
  isSecondary?: boolean
  isNumber?: boolean
}

export type TableProps<Row> = {
  /** Names the rows for screen readers. */
  label: string
  rows: readonly Row[]
  columns: readonly Column<Row>[]
  /** The uid of a row. If `hasUids` is false, any text that is unique among the rows. */
  uidOf(row: Row): string
  /** Text that is unique among the rows, if several rows have the same uid. */
  keyOf?(row: Row, at: number): string
  /** Entries of the menu of a row, before “Copy uid”. */
  actions?: (row: Row) => readonly MenuItem[]
  /** The name of a row, for the label of its menu. */
  nameOf(row: Row): string
  /** Whether rows are resources with a uid, which their menus can copy. */
  hasUids?: boolean
}

export function Table<Row>({
  label,
  rows,
  columns,
  uidOf,
  keyOf = uidOf,
  nameOf,
  actions,
  hasUids = true,
}: TableProps<Row>) {
  const hasMenus = hasUids || actions !== undefined
  return (
    <div class="table-scroll">
      {/* Roles are explicit: on narrow screens rows are grids, which have no implicit roles. */}
      <table class="rows" role="table" aria-label={label}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ title, isSecondary, isNumber }) => (
              <th key={title} role="columnheader" scope="col" class={classOf(isSecondary, isNumber)}>
                {title}
              </th>
            ))}
            {hasMenus && (
              <th role="columnheader" class="row-menu">
                <span class="visually-hidden">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row, at) => (
            <tr key={keyOf(row, at)} role="row">
              {columns.map(({ title, cell, isSecondary, isNumber }) => (
                <td
                  key={title}
                  role="cell"
                  class={classOf(isSecondary, isNumber)}
                  data-title={title}
                  dir="auto"
                >
                  {cell(row)}
                </td>
              ))}
              {hasMenus && (
                <td role="cell" class="row-menu">
                  <Menu
                    icon="more"
                    label={`Actions for ${nameOf(row)}`}
                    items={[...(actions?.(row) ?? []), ...(hasUids ? [copyUid(uidOf(row))] : [])]}
                  />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const classOf = (isSecondary?: boolean, isNumber?: boolean) =>
  [isSecondary && 'secondary', isNumber && 'number'].filter(Boolean).join(' ')

const copyUid = (uid: string): MenuItem => ({
  label: 'Copy uid',
  onSelect: () => void copyText(uid).then((isCopied) => isCopied && toast('Uid copied')),
})

/** Rows in a page of a list. */
export const pageSize = 50

/** The part of a list request that selects the page that the URL names. */
export const pageOf = (place: Place) => ({ pageSize, pageToken: place.query.get('page') ?? '' })

export type PagerProps = {
  place: Place
  nextPageToken: string | undefined
  total: string | undefined
  shown: number
  /**
   * The time from which filters such as “last hour” count back, in milliseconds. It is in the URL of later pages,
   * because a page token is valid only for the same filter.
   */
  time?: number | undefined
}

/**
 * The state that the history of the browser keeps with a page. `back` contains the tokens of the
 * earlier pages. Somebody who opens a shared link does not have them, and can go back only to the
 * first page.
 */
type PagerState = { back?: readonly string[] }

export function Pager({ place, nextPageToken, total, shown, time }: PagerProps) {
  const current = place.query.get('page') ?? ''
  if (!nextPageToken && current === '')
    return shown > 0 ? <p class="pager quiet">{countText(total ?? shown)}</p> : null
  const { back = [] } = (history.state ?? {}) as PagerState
  const go = (page: string | undefined, state: PagerState) =>
    void navigate(withQuery(place, { page, at: page && time?.toString() }), { state })
  return (
    <nav class="pager" aria-label="Pages">
      <span class="quiet">{total !== undefined && countText(total)}</span>
      {current !== '' && (
        <Button onClick={() => go(back.at(-1), { back: back.slice(0, -1) })}>
          {back.length > 0 ? 'Previous' : 'First page'}
        </Button>
      )}
      {nextPageToken && <Button onClick={() => go(nextPageToken, { back: [...back, current] })}>Next</Button>}
    </nav>
  )
}

const countText = (total: string | number) => `${Number(total).toLocaleString('en')} in total`
