// Starts the console.
import { QueryClientProvider } from '@tanstack/preact-query'
import { render } from 'preact'
import { readPermissions } from './api/permissions.ts'
import { queries } from './api/queries.ts'
import { accessToken, SessionEnded, signIn } from './api/session.ts'
import { startRouter } from './router/router.ts'
import { routes } from './routes.ts'
import { readPath } from './shell/group-path.ts'
import { Shell } from './shell/shell.tsx'
import { applyTheme } from './shell/theme.ts'

applyTheme()
void start()

async function start(): Promise<void> {
  try {
    await accessToken()
  } catch (error) {
    if (error instanceof SessionEnded) return signIn()
    // Loading the page fails for the same reason, which the router shows with a button to try again.
  }
  startRouter({
    routes,
    load: ({ group }) => (group === '' ? [] : [readPath(group), readPermissions(group)]),
  })
  const app = document.getElementById('app')
  if (app)
    render(
      <QueryClientProvider client={queries}>
        <Shell />
      </QueryClientProvider>,
      app,
    )
}
