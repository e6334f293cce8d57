// A tree that loads the children of a node when it is opened (ARIA tree view pattern).
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { errorText } from '../api/error-text.ts'
import { Problem } from './form.tsx'
import { Icon } from './icon.tsx'

export type TreeNode = {
  uid: string
  label: ComponentChildren
  detail?: ComponentChildren
  menu?: ComponentChildren
}

export type Children = {
  nodes: readonly TreeNode[]
  isLoading: boolean
  /** Why nodes could not be loaded. */
  error: unknown
  reload(): void
  hasMore: boolean
  loadMore(): void
}

export type TreeProps = {
  label: string
  roots: readonly TreeNode[]
  /** A hook that returns the children of an open node. */
  useChildren(uid: string): Children
  /** Called on Enter and on a click on the label, which do not expand the node. */
  onActivate(uid: string): void
  /** Keys (`keyOf`) of nodes that are open at first. */
  expanded?: readonly string[]
  /** Called with the keys of all open nodes when one is opened or closed. */
  onToggle?: (keys: readonly string[]) => void
}

/** The last part of a uid, which is short enough for a URL. */
export const keyOf = (uid: string) => uid.slice(uid.lastIndexOf('/') + 1)

export function Tree({ label, roots, useChildren, onActivate, expanded = [], onToggle }: TreeProps) {
  const open = useSignal<ReadonlySet<string>>(new Set(expanded))
  const focused = useSignal(roots[0]?.uid ?? '')
  const list = useRef<HTMLUListElement>(null)

  const toggle = (uid: string, isOpen = !open.value.has(keyOf(uid))) => {
    const next = new Set(open.value)
    if (isOpen) next.add(keyOf(uid))
    else next.delete(keyOf(uid))
    open.value = next
    onToggle?.([...next])
  }
  const items = () => [...(list.current?.querySelectorAll<HTMLElement>('[role=treeitem]') ?? [])]
  const focus = (item: HTMLElement | null | undefined) => {
    if (!item) return
    focused.value = item.dataset.uid ?? ''
    item.focus()
  }
  // The focused item is the only one that Tab reaches. If it is removed, its nearest ancestor takes its place.
  useLayoutEffect(() => {
    const keepTabStop = () => {
      const uids = items().map((item) => item.dataset.uid ?? '')
      if (!uids.includes(focused.value))
        focused.value = uids.findLast((uid) => focused.value.startsWith(`${uid}/`)) ?? uids[0] ?? ''
    }
    keepTabStop()
    const observer = new MutationObserver(keepTabStop)
    if (list.current) observer.observe(list.current, { childList: true, subtree: true })
    return () => observer.disconnect()
  }, [])
  const press = (event: KeyboardEvent) => {
    const item = (event.target as Element).closest<HTMLElement>('[role=treeitem]')
    // Buttons inside of an item handle their own keys.
    if (!item || event.target !== item) return
    // Combinations with these keys are left to the browser: Alt and the left arrow go back.
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const all = items()
    const at = all.indexOf(item)
    const uid = item.dataset.uid ?? ''
    const parent = () => item.parentElement?.closest<HTMLElement>('[role=treeitem]')
    const moves: Record<string, () => void> = {
      ArrowDown: () => focus(all[at + 1]),
      ArrowUp: () => focus(all[at - 1]),
      Home: () => focus(all[0]),
      End: () => focus(all.at(-1)),
      ArrowRight: () =>
        open.value.has(keyOf(uid))
          ? focus(item.querySelector<HTMLElement>('[role=treeitem]'))
          : toggle(uid, true),
      ArrowLeft: () => (open.value.has(keyOf(uid)) ? toggle(uid, false) : focus(parent())),
      Enter: () => onActivate(uid),
      ' ': () => toggle(uid),
    }
    const move = moves[event.key] ?? typeAhead(event, all, at, focus)
    if (!move) return
    event.preventDefault()
    move()
  }
  const state = { open, focused, toggle, useChildren, onActivate }
  return (
    <ul class="tree" role="tree" aria-label={label} ref={list} onKeyDown={press}>
      {roots.map((node) => (
        <Node key={node.uid} node={node} level={1} state={state} />
      ))}
    </ul>
  )
}

/** A letter moves to the next item that begins with it. */
function typeAhead(
  event: KeyboardEvent,
  all: HTMLElement[],
  at: number,
  focus: (item: HTMLElement | undefined) => void,
) {
  if (event.key.length !== 1) return undefined
  const letter = event.key.toLowerCase()
  const after = [...all.slice(at + 1), ...all.slice(0, at)]
  const found = after.find((item) =>
    item.querySelector('.tree-label')?.textContent?.toLowerCase().startsWith(letter),
  )
  return found && (() => focus(found))
}

type TreeState = Pick<TreeProps, 'useChildren' | 'onActivate'> & {
  open: { value: ReadonlySet<string> }
  focused: { value: string }
  toggle(uid: string): void
}

function Node({ node, level, state }: { node: TreeNode; level: number; state: TreeState }) {
  const { uid, label, detail, menu } = node
  const isOpen = state.open.value.has(keyOf(uid))
  return (
    <li
      role="treeitem"
      aria-level={level}
      aria-expanded={isOpen}
      aria-labelledby={`tree-${uid}`}
      aria-selected="false"
      data-uid={uid}
      tabIndex={state.focused.value === uid ? 0 : -1}
      onFocus={(event) => {
        if (event.target === event.currentTarget) state.focused.value = uid
      }}
    >
      <div class="tree-row" data-level={Math.min(level, 12)}>
        <button
          type="button"
          class="tree-toggle"
          tabIndex={-1}
          aria-hidden="true"
          onClick={() => state.toggle(uid)}
        >
          <Icon name={isOpen ? 'down' : 'right'} />
        </button>
        <span class="tree-label" id={`tree-${uid}`} dir="auto" onClick={() => state.onActivate(uid)}>
          {label}
        </span>
        <span class="tree-detail quiet" dir="auto">
          {detail}
        </span>
        {menu}
      </div>
      {isOpen && <ChildNodes uid={uid} level={level + 1} state={state} />}
    </li>
  )
}

function ChildNodes({ uid, level, state }: { uid: string; level: number; state: TreeState }) {
  const { nodes, isLoading, error, reload, hasMore, loadMore } = state.useChildren(uid)
  const list = useRef<HTMLUListElement>(null)
  /** The number of nodes when "Show more" was pressed, until new ones are there. */
  const shown = useRef<number | undefined>(undefined)
  const more = useRef<HTMLButtonElement>(null)
  // The button "Show more" moves down or is removed, so the focus moves to the first new node.
  useEffect(() => {
    if (shown.current === undefined || nodes.length <= shown.current) return
    const first = list.current?.children[shown.current] as HTMLElement | undefined
    shown.current = undefined
    const { activeElement, body } = document
    if (activeElement === body || activeElement === more.current) first?.focus()
  }, [nodes.length])
  const showMore = () => {
    shown.current = nodes.length
    loadMore()
  }
  // The button "Try again" is removed while the nodes load, so the focus moves to the node above them.
  const tryAgain = () => {
    list.current?.closest<HTMLElement>('[role=treeitem]')?.focus()
    reload()
  }
  const isEmpty = nodes.length === 0 && error === undefined
  const note = isLoading ? 'Loading' : isEmpty ? 'Nothing below' : undefined
  return (
    <ul role="group" ref={list}>
      {nodes.map((node) => (
        <Node key={node.uid} node={node} level={level} state={state} />
      ))}
      {note && (
        <li role="none" class="tree-row quiet" data-level={Math.min(level, 12)}>
          <span class="tree-toggle" />
          {note}
        </li>
      )}
      {error !== undefined && (
        <li role="none" class="tree-row" data-level={Math.min(level, 12)}>
          <span class="tree-toggle" />
          <Problem error={error} />
          {!hasMore && errorText(error).mayRetry && (
            <button type="button" class="button plain" onClick={tryAgain}>
              Try again
            </button>
          )}
        </li>
      )}
      {hasMore && (
        <li role="none" class="tree-row" data-level={Math.min(level, 12)}>
          <span class="tree-toggle" />
          <button type="button" class="button plain" ref={more} onClick={showMore}>
            Show more
          </button>
        </li>
      )}
    </ul>
  )
}
