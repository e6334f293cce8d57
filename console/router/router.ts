// Shows the page of the URL. A page appears when its code and its data are loaded; until then the previous page stays.
import { signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { queries } from '../api/queries.ts'
import type { Read } from '../api/read.ts'
import type { PageModule, PageProps, Place, Route } from './route.ts'
import { placeOf } from './route.ts'

export type Shown = { place: Place | undefined; href: string } & (
  | { page: ComponentType<PageProps> }
  | { error: unknown }
)

/** The page on the screen. Undefined until the first one is loaded. */
export const shown = signal<Shown | undefined>(undefined)
/** Whether another page is being loaded. */
export const isLoading = signal(false)

/** The path of the base URL, which precedes all paths. */
const prefix = document.documentElement.dataset.prefix ?? ''

export const hrefOf = (path: string) => prefix + path

/** Passed in by main.tsx: the pages import this file, so it cannot import their list. */
type RouterOptions = {
  routes: readonly Route[]
  /** Data that every page needs, such as the permissions in its group. */
  load(place: Place): Read<unknown>[]
}

let options: RouterOptions = { routes: [], load: () => [] }

export function startRouter(chosen: RouterOptions): void {
  options = chosen
  history.scrollRestoration = 'manual'
  addEventListener('popstate', () => {
    hasNavigated = true
    void show()
  })
  addEventListener('click', followLink)
  void show()
}

/** Whether a navigation has happened since the document was loaded. Before, another site may have chosen the URL. */
export let hasNavigated = false

/**
 * `state` is stored in the new history entry. Default: the state of the current entry, if the new
 * one shows the same page of a list.
 */
type Navigation = { replace?: boolean; state?: unknown }

/** Resolves when the page is drawn, or when another page was opened before it was loaded. */
export function navigate(path: string, { replace = false, state }: Navigation = {}): Promise<void> {
  hasNavigated = true
  const at = hrefOf(path)
  state ??= isSamePageOfList(at) ? history.state : null
  if (replace) history.replaceState(state, '', at)
  else {
    history.replaceState({ ...history.state, scroll: scrollY }, '')
    history.pushState(state, '', at)
  }
  return show()
}

/** Whether a URL shows the same page of a list as now, perhaps with a dialog. */
function isSamePageOfList(at: string): boolean {
  const { pathname, searchParams } = new URL(at, location.href)
  return (
    pathname === location.pathname &&
    searchParams.get('page') === new URLSearchParams(location.search).get('page')
  )
}

/** The current page with other query parameters; undefined and '' remove one. */
export function withQuery(place: Place, changes: Record<string, string | undefined>): string {
  const query = new URLSearchParams(place.query)
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value)
    else query.delete(name)
  }
  const [path = ''] = place.href.split('?')
  return query.size > 0 ? `${path}?${query}` : path
}

let turn = 0

async function show(): Promise<void> {
  const own = ++turn
  const path = location.pathname.slice(prefix.length)
  const href = path + location.search
  const place = placeOf(options.routes, path, location.search)
  isLoading.value = true
  const next = await load(place, href)
  if (own !== turn) return
  const previous = shown.value
  shown.value = next
  isLoading.value = false
  document.title = titleOf(next)
  if (previous && previous.place?.href.split('?')[0] !== path) scrollAndFocus()
  await new Promise<void>((resolve) => untilDrawn.push(resolve))
}

const untilDrawn: (() => void)[] = []

/**
 * Called by the shell after the effects of the page have run. Until then, components still watch
 * the data of the previous page, so a write would reload it, even that of a deleted resource.
 */
export function reportDrawn(): void {
  for (const resolve of untilDrawn.splice(0)) resolve()
}

async function load(place: Place | undefined, href: string): Promise<Shown> {
  if (!place) return { place, href, error: new NoSuchPage() }
  try {
    const [module] = await Promise.all([loadModule(place), ...options.load(place).map(ensure)])
    await Promise.all((module.load?.(place) ?? []).map(ensure))
    return { place, href, page: module.default }
  } catch (error) {
    return { place, href, error }
  }
}

export class NoSuchPage extends Error {}

const ensure = (read: Read<unknown>) => queries.ensureQueryData(read)

/**
 * The modules that are loaded. Importing one again would take a turn of the event loop, in which
 * the person could type into the previous page.
 */
const modules = new Map<Route, PageModule>()

/**
 * The key in session storage for the URL that was reloaded because a module was missing. Removed when
 * a module is loaded.
 */
const reloadedKey = 'stemma-reloaded'

/** After an update of the server the files of the old version are gone: the page is then loaded anew, once. */
async function loadModule({ route }: Place): Promise<PageModule> {
  const loaded = modules.get(route)
  if (loaded) return loaded
  try {
    const module = await route.page()
    modules.set(route, module)
    sessionStorage.removeItem(reloadedKey)
    return module
  } catch (error) {
    if (sessionStorage.getItem(reloadedKey) === location.href) throw error
    sessionStorage.setItem(reloadedKey, location.href)
    location.reload()
    return new Promise<never>(() => {})
  }
}

const titleOf = ({ place }: Shown) => `${place?.route.title ?? 'Not found'} · Stemma`

/** Restores the scroll position, and focuses the heading, so that screen readers say it. */
function scrollAndFocus(): void {
  requestAnimationFrame(() => {
    scrollTo(0, (history.state as { scroll?: number } | null)?.scroll ?? 0)
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
  })
}

/** Links to pages of the console are followed without loading the document. */
function followLink(event: MouseEvent): void {
  const link = (event.target as Element | null)?.closest?.('a')
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
  if (!link || !isPlain || event.defaultPrevented || link.target || link.hasAttribute('download')) return
  const { origin, pathname, search, hash } = new URL(link.href)
  const path = pathname.slice(prefix.length)
  if (origin !== location.origin || !placeOf(options.routes, path, search)) return
  event.preventDefault()
  const isHere = pathname === location.pathname && search === location.search
  // The browser would add a history entry without the state of this one, which the pager of a list needs.
  if (isHere && hash !== '') document.getElementById(hash.slice(1))?.focus()
  else void navigate(path + search)
}
