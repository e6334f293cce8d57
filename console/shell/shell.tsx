// The frame around every page.
import { useEffect, useErrorBoundary, useLayoutEffect, useRef } from 'preact/hooks'
import type { Capability } from '../api/permissions.ts'
import { useDenial } from '../api/permissions.ts'
import type { Place } from '../router/route.ts'
import type { Shown } from '../router/router.ts'
import { isLoading, reportDrawn, shown } from '../router/router.ts'
import { Toasts } from '../ui/toasts.tsx'
import { ErrorPage } from './error-page.tsx'
import { isServerRoute, Navigation } from './navigation.tsx'
import { Palette } from './palette.tsx'
import { Shortcuts } from './shortcuts.tsx'
import { SignInAgain } from './sign-in-again.tsx'
import { TopBar } from './top-bar.tsx'

export function Shell() {
  const current = shown.value
  // The effects of child components have run before this one, as `reportDrawn` requires.
  useEffect(reportDrawn, [current])
  return (
    <>
      <a class="skip-link" href="#heading">
        Skip to content
      </a>
      <TopBar shown={current} />
      <div class="frame">
        {current?.place && (current.place.group !== '' || isServerRoute(current.place.route)) && (
          <Navigation place={current.place} />
        )}
        <main aria-busy={isLoading.value}>
          {current && <Page key={current.place?.route.path ?? ''} shown={current} />}
        </main>
      </div>
      <div class={`progress ${isLoading.value ? 'active' : ''}`} aria-hidden="true" />
      <div class="visually-hidden" role="status">
        {current?.place?.route.title}
      </div>
      <Toasts />
      <Palette place={current?.place} />
      <Shortcuts place={current?.place} />
      <SignInAgain />
    </>
  )
}

function Page({ shown: current }: { shown: Shown }) {
  const failed = useRef<Shown | undefined>(undefined)
  const [caught, reset] = useErrorBoundary(() => {
    failed.current = current
  })
  // A page of the same route, such as that of another group, keeps this component, but not the error.
  useLayoutEffect(() => {
    if (failed.current !== current) reset()
  }, [current])
  if ('error' in current) return <ErrorPage error={current.error} />
  if (caught) return <ErrorPage error={caught} onRetry={reset} />
  const Content = current.page
  const place = current.place as Place // undefined only for an unknown path, which has `error`
  return (
    <>
      {place.route.needs && <Incomplete place={place} needs={place.route.needs} />}
      <Content place={place} />
    </>
  )
}

/** Lists leave out what the person may not see, so an empty list would be misleading. */
function Incomplete({ place, needs }: { place: Place; needs: Capability }) {
  const denied = useDenial(place.group)(needs)
  return denied ? <p class="notice">Not everything is shown. {denied}</p> : null
}
