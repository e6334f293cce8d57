import { Code, StemmaError } from '@stemma/api/json'
import { errorText } from '../api/error-text.ts'
import { paths } from '../paths.ts'
import { NoSuchPage, navigate } from '../router/router.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { RequestAccess } from './request-access.tsx'

/** Stands in place of a page that cannot be shown. */
export function ErrorPage({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  if (error instanceof NoSuchPage)
    return (
      <div class="error-page">
        <PageHeader title="No such page" about="The address is wrong, or the page has moved." />
        <ButtonLink to={paths.home()}>All organizations</ButtonLink>
      </div>
    )
  const { title, text, requestId, mayRetry } = errorText(error)
  const retry = () => {
    onRetry?.()
    void navigate(
      location.pathname.slice((document.documentElement.dataset.prefix ?? '').length) + location.search,
      {
        replace: true,
      },
    )
  }
  return (
    <div class="error-page" role="alert">
      <PageHeader title={title} about={text} />
      {requestId && <p class="quiet small">Request {requestId}</p>}
      <div class="actions">
        {mayRetry && (
          <Button tone="primary" onClick={retry}>
            Try again
          </Button>
        )}
        <ButtonLink to={paths.home()}>All organizations</ButtonLink>
      </div>
      {error instanceof StemmaError && error.code === Code.PERMISSION_DENIED && <RequestAccess />}
    </div>
  )
}
