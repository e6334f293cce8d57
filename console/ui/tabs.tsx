import { Link } from '../router/link.tsx'

export type Tab = { label: string; to: string; isCurrent: boolean; count?: string | number | undefined }

/** Tabs are links: each tab is a view with a URL of its own. */
export const Tabs = ({ label, tabs }: { label: string; tabs: readonly Tab[] }) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(({ label: text, to, isCurrent, count }) => (
      <Link key={text} to={to} aria-current={isCurrent ? 'page' : undefined}>
        {text} {count !== undefined && <span class="count">{count}</span>}
      </Link>
    ))}
  </nav>
)
