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
start().catch((error: unknown) => {
  if (error instanceof SessionEnded) signIn()
  else throw error
})

async function start(): Promise<void> {
  await accessToken()
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
